// Providers: who has an object, and those who say that they have.
#include <algorithm>
#include <string>
#include <utility>

#include "base/cbor.h"
#include "base/json.h"
#include "services/index/lists.h"
#include "services/index/routes.h"
#include "services/kit/documents.h"
#include "services/kit/handlers.h"

namespace ron::index {
namespace {

using auth::Access;
using base::Code;
using base::fail;
using base::Result;
using base::Value;
using http::Method;
using http::Request;
using http::Response;
using kit::refuse;
using platform::Task;

constexpr std::uint64_t kMostFreshness = 1'000'000'000;  // seconds

std::string as_json(const std::vector<Provider>& providers) {
  std::string out;
  base::JsonWriter json(out);
  json.begin_array();
  for (const Provider& provider : providers) append(json, provider);
  json.end_array();
  return out + "\n";
}

// The records as they were signed, for those who want to check them.
std::string as_cbor(const std::vector<Provider>& providers) {
  std::string out;
  base::CborWriter writer(out);
  writer.array(providers.size());
  for (const Provider& provider : providers) {
    writer.bytes(base::as_bytes(catalog::encode(provider.record)));
  }
  return out;
}

Response respond_with(const Request& request, const std::vector<Provider>& providers) {
  Response response = kit::wants_cbor(request)
                          ? Response::text(200, as_cbor(providers), "application/cbor")
                          : Response::json(200, as_json(providers));
  response.add("Vary", "Accept");
  response.add("Cache-Control", "no-cache");
  return response;
}

struct ProviderQuery {
  std::uint64_t limit = kProviderList.usual;
  std::uint64_t min_freshness_s = 0;
  std::string region;
  bool is_local = false;  // what is kept here, and nobody else is asked
};

Result<ProviderQuery> parse_query(const Request& request) {
  ProviderQuery out;
  const auto limit = kit::query_number(request, "limit");
  if (!limit) return fail(limit.error());
  out.limit =
      std::clamp<std::uint64_t>(limit->value_or(kProviderList.usual), 1, kProviderList.most);
  const auto freshness = kit::query_number(request, "min_freshness");
  if (!freshness) return fail(freshness.error());
  out.min_freshness_s = std::min(freshness->value_or(0), kMostFreshness);
  auto region = kit::query_text(request, "region", catalog::kMaxRegionBytes);
  if (!region) return fail(region.error());
  out.region = std::move(*region).value_or("");
  const auto local = kit::query_number(request, "local");
  if (!local) return fail(local.error());
  out.is_local = local->value_or(0) != 0;
  return out;
}

Task<Result<std::vector<Provider>>> kept_providers(Core* core, base::ObjectId address) {
  const auto entries = co_await find_providers(&core->map(), address);
  if (!entries) co_return fail(entries.error());
  std::vector<Provider> providers;
  const auto now = static_cast<std::uint64_t>(core->now_ms());
  for (const ProviderEntry& entry : *entries) {
    if (!entry.is_own || entry.record.expires_ms <= now) continue;
    providers.push_back({.record = entry.record, .seen_ms = entry.seen_ms});
    if (providers.size() == kProviderList.most) break;
  }
  co_return providers;
}

Task<Response> get_providers(Core* core, Request* request) {
  const auto permit = core->admit(RouteClass::Providers, *request);
  if (!permit) co_return refuse(*request, permit.error());
  const auto address = base::ObjectId::parse(request->params[0]);
  if (!address) co_return refuse(*request, address.error());
  const auto query = parse_query(*request);
  if (!query) co_return refuse(*request, query.error());
  if (query->is_local) {
    const auto providers = co_await kept_providers(core, *address);
    if (!providers) co_return refuse(*request, providers.error());
    co_return respond_with(*request, *providers);
  }
  AnswerPtr answer = core->cached(address->text());
  if (!answer) {
    auto resolved = co_await core->resolve(*address, false, request->deadline);
    if (!resolved) co_return refuse(*request, resolved.error());
    answer = std::move(*resolved);
  }
  std::vector<Provider> providers = answer->providers;
  const std::int64_t oldest =
      query->min_freshness_s == 0
          ? 0
          : core->now_ms() - static_cast<std::int64_t>(query->min_freshness_s) * 1000;
  std::erase_if(providers, [oldest](const Provider& one) { return one.seen_ms < oldest; });
  if (providers.empty()) {
    co_return refuse(*request, {Code::NotFound, "no provider of it is known"});
  }
  if (!query->region.empty()) core->rank(providers, query->region);
  if (providers.size() > query->limit) providers.resize(query->limit);
  co_return respond_with(*request, providers);
}

Task<Response> announce(Core* core, Request* request) {
  const auto permit = core->admit(RouteClass::Providers, *request);
  if (!permit) co_return refuse(*request, permit.error());
  const auto address = base::ObjectId::parse(request->params[0]);
  if (!address) co_return refuse(*request, address.error());
  const auto body = co_await request->body->read_all();
  if (!body) co_return refuse(*request, body.error());
  const auto record = catalog::decode_provider_record(body->view());
  if (!record) co_return refuse(*request, record.error());
  if (record->addr != *address) {
    co_return refuse(*request, {Code::Malformed, "the record is of another address"});
  }
  const Result<void> may = core->may_announce(*request, *record);
  if (!may) co_return refuse(*request, may.error());
  const Origin origin{.corr_id = request->corr_id, .token = request->token};
  const auto announced = co_await core->announce({*record}, origin, request->deadline);
  if (!announced) co_return refuse(*request, announced.error());
  if (announced->crowded != 0) {
    co_return refuse(*request, {Code::Quota, "as many providers of it are known as are kept"});
  }
  if (announced->expired != 0) {
    co_return refuse(*request, {Code::Malformed, "the record has expired"});
  }
  if (announced->stale != 0) {
    co_return refuse(*request, {Code::VersionSkew, "a record with a higher seq is known"});
  }
  co_return kit::document(*request, 200,
                          Value::Map{{"address", address->text()}, {"seq", record->seq}});
}

}  // namespace

void add_provider_routes(http::Router& router, Core& core) {
  kit::Routes(router, core)
      .list(kProviderList, Access::read(), get_providers)
      .add(Method::Put, "/providers/{addr}", Access::open(), announce);
}

}  // namespace ron::index
