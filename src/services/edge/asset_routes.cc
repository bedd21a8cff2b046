// What origins have, and the cache for operators.
#include <functional>
#include <string>
#include <utility>

#include "base/rfc3339.h"
#include "services/edge/asset_request.h"
#include "services/edge/egress.h"
#include "services/edge/routes.h"
#include "services/kit/documents.h"
#include "services/kit/handlers.h"

namespace ron::edge {
namespace {

using auth::Access;
using auth::Scope;
using base::Code;
using base::Result;
using base::Value;
using http::Method;
using http::Request;
using http::Response;
using kit::refuse;
using platform::Task;

constexpr std::string_view kScheme = "https://";

Task<Response> get_asset(Core* core, Request* request) { return core->assets().get(request); }

Task<Response> get_host(Core*, Request* request) {
  co_return refuse(
      *request, {Code::NotFound, "ask for /edge/assets/HOST/PATH; a host alone ends in a slash"});
}

// What a purge is about: exactly one of `url`, `prefix` and `all`.
struct PurgeOrder {
  std::string subject;  // for the audit
  std::function<bool(const Asset&)> is_one;
};

Result<PurgeOrder> purge_of_url(const std::string& text) {
  const Result<OriginUrl> url = parse_url(text);
  if (!url) return base::fail(url.error());
  return PurgeOrder{url->text(),
                    [key = url->text()](const Asset& asset) { return asset.facts.url == key; }};
}

// A whole host, and a path in whole segments, as in edge.allow. All URLs are looked at under a
// lock: those of other hosts are not taken apart.
Result<PurgeOrder> purge_of_prefix(const std::string& text) {
  if (!text.starts_with(kScheme)) {
    return base::fail(Code::Malformed, "a prefix begins with https://");
  }
  const std::string_view entry = std::string_view(text).substr(kScheme.size());
  const Result<OriginUrl> host = parse_origin(entry.substr(0, entry.find('/')), "/");
  const Result<AllowedOrigin> prefix = AllowedOrigin::parse(entry);
  if (!host || !prefix) {
    return base::fail(Code::Malformed, "a prefix is https://HOST or https://HOST/PATH");
  }
  auto is_one = [root = host->text(), prefix = *prefix](const Asset& asset) {
    if (!asset.facts.url.starts_with(root)) return false;
    const Result<OriginUrl> url = parse_url(asset.facts.url);
    return url && prefix.has(*url);
  };
  return PurgeOrder{text, std::move(is_one)};
}

Result<PurgeOrder> purge_of_text(std::string_view name, const Value& value) {
  const std::string* const text = value.text();
  if (text == nullptr) return base::fail(Code::Malformed, std::string(name) + " is a text");
  return name == "prefix" ? purge_of_prefix(*text) : purge_of_url(*text);
}

Result<PurgeOrder> read_purge(const Value& body) {
  const Value::Map* const fields = body.map();
  if (fields == nullptr || fields->size() != 1) {
    return base::fail(Code::Malformed, R"(one of {"url": …}, {"prefix": …} and {"all": true})");
  }
  const auto& [name, value] = *fields->begin();
  if (name == "url" || name == "prefix") return purge_of_text(name, value);
  if (name == "all" && value == Value(true)) {
    return PurgeOrder{"everything", [](const Asset&) { return true; }};
  }
  return base::fail(Code::Malformed, R"(one of {"url": …}, {"prefix": …} and {"all": true})");
}

Task<Response> purge(Core* core, Request* request) {
  const auto body = co_await kit::read_document(request);
  if (!body) co_return refuse(*request, body.error());
  Result<PurgeOrder> order = read_purge(*body);
  if (!order) co_return refuse(*request, order.error());
  const auto purged = co_await core->assets().purge(std::move(order->is_one), request->deadline);
  if (!purged) co_return refuse(*request, purged.error());
  core->events().send({.kind = EventKind::Purged,
                       .subject = std::move(order->subject),
                       .detail = std::to_string(*purged) + " purged",
                       .token = request->token,
                       .corr_id = request->corr_id});
  co_return kit::document(*request, 200, Value::Map{{"purged", *purged}});
}

Value disk_view(AssetStore& store) {
  const volume::VolumeStats stats = store.volume().stats();
  const volume::VolumeHealth health = store.volume().health();
  return Value::Map{{"objects", stats.objects},
                    {"object_bytes", stats.object_bytes},
                    {"stored_bytes", stats.stored_bytes},
                    {"dead_bytes", stats.dead_bytes},
                    {"free_bytes", stats.free_bytes},
                    {"quarantined", stats.quarantined},
                    {"changes_waiting", std::uint64_t{store.changes_waiting()}},
                    {"writable", health.writable},
                    {"trouble", health.reason}};
}

// Since when the oldest asset is there; 0: there is none.
Task<std::int64_t> oldest_ms(const UrlTable* table) {
  std::int64_t oldest = 0;
  for (std::size_t part = 0; part < UrlTable::kParts; ++part) {
    const std::int64_t since = table->oldest_ms(part);
    if (since != 0 && (oldest == 0 || since < oldest)) oldest = since;
    co_await platform::Yield();
  }
  co_return oldest;
}

Task<Response> show_cache(Core* core, Request* request) {
  Assets& assets = core->assets();
  const UrlTable& table = assets.table();
  const UrlTable::Bounds bounds = table.bounds();
  const MemoryTier& memory = core->loader().memory();
  Value::Map requests;
  for (std::size_t i = 0; i < metrics::kCacheResults.size(); ++i) {
    requests.emplace(std::string(metrics::kCacheResults[i]),
                     assets.counted(static_cast<CacheResult>(i)));
  }
  const std::int64_t oldest = co_await oldest_ms(&table);
  Value::Map view{{"entries", table.entries()},
                  {"max_entries", bounds.entries},
                  {"bytes", table.bytes()},
                  {"max_bytes", bounds.bytes},
                  {"memory_bytes", memory.used_bytes()},
                  {"max_memory_bytes", memory.capacity()},
                  {"oldest", oldest == 0 ? Value() : Value(base::print_rfc3339(oldest / 1000))},
                  {"requests", std::move(requests)}};
  view.emplace("disk", assets.store() != nullptr ? disk_view(*assets.store()) : Value());
  co_return kit::document(*request, 200, std::move(view));
}

}  // namespace

void add_asset_routes(http::Router& router, Core& core) {
  kit::Routes(router, core)
      .add(Method::Get, "/edge/assets/{host}/{path...}", Access::read(), get_asset)
      .add(Method::Get, "/edge/assets/{host}", Access::read(), get_host);
}

void add_cache_admin_routes(http::Router& router, Core& core) {
  const Access admin = Access::needs(Scope::kEdgeAdmin);
  kit::Routes(router, core)
      .add(Method::Post, "/admin/purge", admin, purge)
      .add(Method::Get, "/admin/cache", admin, show_cache);
}

}  // namespace ron::edge
