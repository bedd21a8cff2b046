#include "services/storage/admin_routes.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>

#include "base/json.h"
#include "base/rfc3339.h"
#include "http/uri.h"
#include "services/storage/budget.h"
#include "services/storage/lists.h"
#include "services/storage/routes.h"

namespace ron::storage {
namespace {

using base::Code;
using http::Request;
using http::Response;
using platform::Task;

constexpr std::size_t kHoldersListed = 4;  // of each object of a list

struct ListQuery {
  std::optional<base::ObjectId> after;
  std::size_t limit = kObjectList.usual;
};

base::Result<ListQuery> parse_list(std::string_view query) {
  ListQuery asked;
  http::UriScratch scratch;
  const auto after = http::find_param(query, "after", scratch);
  if (!after) return base::fail(after.error().error());
  if (*after && !(*after)->empty()) {
    const auto id = base::ObjectId::parse(**after);
    if (!id) return base::fail(id.error());
    asked.after = *id;
  }
  const auto limit = http::find_param(query, "limit", scratch);
  if (!limit) return base::fail(limit.error().error());
  if (!*limit) return asked;
  const std::string_view text = **limit;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), asked.limit);
  if (status != std::errc() || end != text.data() + text.size() || asked.limit < 1 ||
      asked.limit > kObjectList.most) {
    return base::fail(base::Error(Code::Malformed, "limit is not a number from 1 to 1000"));
  }
  return asked;
}

// `more_holders` if there are others.
void write_holders(base::JsonWriter& json, const volume::Holders& holders) {
  json.key("holders").begin_array();
  for (const std::string& tenant : holders.tenants) json.value(shown_tenant(tenant));
  json.end_array();
  if (holders.more) json.key("more_holders").value(true);
}

Task<Response> show_object(Core* core, Request* request) {
  const auto id = base::ObjectId::parse(request->params[0]);
  if (!id) co_return refuse(*request, id.error());
  const auto holders = co_await core->volumes().holders(*id, kHolderList.most, request->deadline);
  if (!holders) co_return refuse(*request, holders.error());
  const auto found = co_await core->locate(*id, request->deadline);
  std::string body;
  base::JsonWriter json(body);
  json.begin_object().key("address").value(id->text());
  if (found) json.key("length").value(found->length());
  json.key("damaged").value(!found && found.error().code == Code::IntegrityFail);
  write_holders(json, *holders);
  json.end_object();
  co_return Response::json(200, std::move(body));
}

// `next` continues where this answer ends; it is missing at the end. What is removed meanwhile has
// no holders.
Task<Response> list_objects(Core* core, Request* request) {
  const auto asked = parse_list(request->query);
  if (!asked) co_return refuse(*request, asked.error());
  const auto listed = co_await core->volumes().list(asked->after, asked->limit, request->deadline);
  if (!listed) co_return refuse(*request, listed.error());
  std::string body;
  base::JsonWriter json(body);
  json.begin_object().key("objects").begin_array();
  for (const volume::Volume::Listed& one : *listed) {
    json.begin_object().key("address").value(one.id.text());
    json.key("length").value(one.length);
    const auto holders =
        co_await core->volumes().holders(one.id, kHoldersListed, request->deadline);
    write_holders(json, holders ? *holders : volume::Holders());
    json.end_object();
  }
  json.end_array();
  if (listed->size() == asked->limit) json.key("next").value(listed->back().id.text());
  json.end_object();
  co_return Response::json(200, std::move(body));
}

void write_volume(base::JsonWriter& json, volume::Volume& volume) {
  const volume::VolumeStats stats = volume.stats();
  const volume::VolumeHealth health = volume.health();
  json.begin_object();
  json.key("readable").value(health.readable).key("writable").value(health.writable);
  if (!health.reason.empty()) json.key("reason").value(health.reason);
  json.key("objects").value(stats.objects).key("object_bytes").value(stats.object_bytes);
  json.key("stored_bytes").value(stats.stored_bytes).key("dead_bytes").value(stats.dead_bytes);
  json.key("segments").value(stats.segments).key("free_bytes").value(stats.free_bytes);
  json.key("uploads").value(stats.uploads).key("quarantined").value(stats.quarantined);
  json.key("index_bytes").value(stats.index_bytes);
  json.key("unreadable_bytes").value(stats.unreadable_bytes);
  if (const volume::Maintenance* maintenance = volume.maintenance()) {
    const volume::ScrubProgress scrub = maintenance->scrub_progress();
    json.key("scrub").begin_object().key("running").value(scrub.running);
    json.key("checked_bytes").value(scrub.bytes_done).key("total_bytes").value(scrub.bytes_total);
    json.key("damaged").value(scrub.found).key("passes").value(scrub.passes);
    if (scrub.running) json.key("eta_s").value(scrub.eta_s);
    if (scrub.started_unix_s != 0) {
      json.key("started_at").value(base::print_rfc3339(scrub.started_unix_s));
    }
    if (scrub.finished_unix_s != 0) {
      json.key("finished_at").value(base::print_rfc3339(scrub.finished_unix_s));
    }
    json.end_object();
  }
  json.end_object();
}

void write_memory(base::JsonWriter& json, const StorageConfig& config, std::size_t cores) {
  const std::vector<kit::Addend> budget = memory_budget(config, cores);
  json.key("memory").begin_object().key("most_bytes").value(kit::total_bytes(budget));
  json.key("addends").begin_array();
  for (const kit::Addend& addend : budget) {
    json.begin_object().key("what").value(addend.what).key("count").value(addend.count);
    json.key("each_bytes").value(addend.each_bytes).key("bytes").value(addend.bytes());
    json.end_object();
  }
  json.end_array().end_object();
}

void write_usage(base::JsonWriter& json, const volume::Usage& usage) {
  json.key("bytes").value(usage.bytes).key("objects").value(usage.objects);
}

// What the largest tenants hold, are about to store and may store, and what all others hold.
void write_tenants(base::JsonWriter& json, Core& core) {
  const volume::TenantUsage tenants = core.volumes().tenants(kStatsList.most);
  volume::Usage others = tenants.all;
  json.key("tenants").begin_array();
  for (const volume::TenantUsage::Tenant& tenant : tenants.largest) {
    others.bytes -= std::min(others.bytes, tenant.usage.bytes);
    others.objects -= std::min(others.objects, tenant.usage.objects);
    const Quotas::Standing standing = core.quotas().standing(tenant.name);
    json.begin_object().key("name").value(shown_tenant(tenant.name));
    write_usage(json, tenant.usage);
    json.key("reserved_bytes").value(standing.reserved.bytes);
    if (standing.limit.bytes != 0) json.key("limit_bytes").value(standing.limit.bytes);
    if (standing.limit.objects != 0) json.key("limit_objects").value(standing.limit.objects);
    json.end_object();
  }
  json.end_array();
  if (others.objects == 0) return;
  json.key("other_tenants").begin_object();
  write_usage(json, others);
  json.end_object();
}

Response stats_response(Core& core, const StorageConfig& config) {
  std::string body;
  base::JsonWriter json(body);
  json.begin_object().key("amnesia").value(config.amnesia);
  json.key("volumes").begin_array();
  for (const auto& volume : core.volumes().all()) write_volume(json, *volume);
  json.end_array();
  write_tenants(json, core);
  json.key("cache").begin_object().key("objects").value(std::uint64_t{core.cache().count()});
  json.key("bytes").value(core.cache().used_bytes());
  json.key("capacity_bytes").value(core.cache().capacity()).end_object();
  json.key("queues").begin_array().begin_object().key("name").value(kWork.name);
  json.key("depth").value(std::uint64_t{core.work().depth()});
  json.key("capacity").value(std::uint64_t{core.work().capacity()}).end_object().end_array();
  json.key("uploads").begin_object().key("open").value(core.volumes().totals().uploads);
  json.key("max_open").value(core.uploads().max_open()).end_object();
  write_memory(json, config, core.cores());
  json.end_object();
  return Response::json(200, std::move(body));
}

Task<Response> show_stats(Core* core, std::shared_ptr<const StorageConfig> config) {
  co_return stats_response(*core, *config);
}

// 202: how many volumes will see to it; 0 when there is nothing to do, as in memory.
Task<Response> request_maintenance(Core* core, void (volume::Maintenance::*what)()) {
  std::uint64_t asked = 0;
  for (const auto& volume : core->volumes().all()) {
    volume::Maintenance* const maintenance = volume->maintenance();
    if (maintenance == nullptr) continue;
    (maintenance->*what)();
    ++asked;
  }
  std::string body;
  base::JsonWriter(body).begin_object().key("volumes").value(asked).end_object();
  co_return Response::json(202, std::move(body));
}

Task<Response> refuse_repair(Request* request) {
  co_return refuse(*request, {Code::Degraded, "nothing to repair from: this node has no replicas"});
}

}  // namespace

void add_operator_routes(http::Router& router, Core& core, CurrentConfig config) {
  using http::Method;
  const auto add = [&router](Method method, std::string pattern, http::Handler handler) {
    router.add({.method = method,
                .pattern = std::move(pattern),
                .access = auth::Access::needs(auth::Scope::kStorageAdmin),
                .handler = std::move(handler)});
  };
  const auto list = [&add](const kit::ListDecl& decl, http::Handler handler) {
    add(Method::Get, std::string(decl.pattern), std::move(handler));
  };
  list(kObjectList, [&core](Request* request) { return list_objects(&core, request); });
  list(kHolderList, [&core](Request* request) { return show_object(&core, request); });
  list(kStatsList,
       [&core, config = std::move(config)](Request*) { return show_stats(&core, config()); });
  add(Method::Post, "/admin/scrub", [&core](Request*) {
    return request_maintenance(&core, &volume::Maintenance::request_scrub);
  });
  add(Method::Post, "/admin/compact", [&core](Request*) {
    return request_maintenance(&core, &volume::Maintenance::request_compaction);
  });
  add(Method::Post, "/admin/repair", [](Request* request) { return refuse_repair(request); });
  add_snapshot_routes(router, core);
}

}  // namespace ron::storage
