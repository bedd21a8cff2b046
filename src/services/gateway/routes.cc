#include "services/gateway/routes.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/json.h"
#include "services/gateway/lists.h"
#include "services/kit/documents.h"
#include "services/kit/handlers.h"

namespace ron::gateway {
namespace {

using auth::Access;
using http::Method;
using http::Request;
using http::Response;
using platform::Task;

Task<Response> serve(Core* core, Request* request) { return core->serve(request); }

void write(base::JsonWriter& json, const TenantRow& row) {
  json.begin_object();
  json.key("tenant").value(row.name);
  json.key("share").value(row.share);
  json.key("quantum").value(row.quantum);
  json.key("queue_depth").value(row.queued);
  json.key("in_flight").value(row.in_flight);
  json.key("deficit").value(static_cast<std::int64_t>(row.deficit));
  json.key("served").value(static_cast<std::int64_t>(row.served));
  json.key("rejections").value(row.rejections);
  json.end_object();
}

Task<Response> show_tenants(Core* core, Request* request) {
  const auto limit = kit::query_number(*request, "limit");
  if (!limit) co_return kit::refuse(*request, limit.error());
  std::uint64_t left =
      std::clamp<std::uint64_t>(limit->value_or(kTenantList.usual), 1, kTenantList.most);
  const auto reading = core->accounts().latest();
  std::string body;
  base::JsonWriter json(body);
  json.begin_object();
  json.key("window_seconds").value(static_cast<std::uint64_t>(Tenant::kWindowSeconds));
  json.key("jain_index").value(reading->jain_index);
  json.key("active").value(static_cast<std::uint64_t>(core->tenants().active()));
  json.key("tenants").begin_array();
  for (const TenantRow& row : reading->tenants) {
    if (left-- == 0) break;
    write(json, row);
  }
  json.end_array();
  json.end_object();
  co_return Response::json(200, std::move(body));
}

void write(base::JsonWriter& json, const http::UpstreamStatus& member) {
  json.begin_object();
  json.key("name").value(member.name);
  json.key("url").value(member.url);
  json.key("state").value(http::name(member.state));
  json.key("breaker").value(runtime::name(member.breaker));
  json.key("in_flight").value(member.in_flight);
  json.key("failures").value(member.failures);
  json.key("ejections").value(member.ejections);
  json.key("returns_in")
      .value(base::print(std::chrono::floor<std::chrono::milliseconds>(member.returns_in)));
  json.end_object();
}

Task<Response> show_upstreams(Core* core, Request*) {
  std::string body;
  base::JsonWriter json(body);
  json.begin_object().key("upstreams").begin_array();
  for (const auto& upstream : core->upstreams().groups()) {
    json.begin_object();
    json.key("name").value(upstream->name());
    json.key("usable").value(upstream->is_usable());
    json.key("last_failure").value(upstream->last_failure());
    json.key("members").begin_array();
    for (const http::UpstreamStatus& member : upstream->status()) write(json, member);
    json.end_array();
    json.end_object();
  }
  json.end_array().end_object();
  co_return Response::json(200, std::move(body));
}

Response set_drained(Core& core, const Request& request, bool drained) {
  const base::Result<> set = core.upstreams().set_drained(request.params[0], drained);
  if (!set) return kit::refuse(request, set.error());
  std::string body;
  base::JsonWriter json(body);
  json.begin_object();
  json.key("name").value(request.params[0]);
  json.key("drained").value(drained);
  json.end_object();
  return Response::json(200, std::move(body));
}

Task<Response> drain(Core* core, Request* request) { co_return set_drained(*core, *request, true); }

Task<Response> undrain(Core* core, Request* request) {
  co_return set_drained(*core, *request, false);
}

}  // namespace

void add_routes(http::Router& router, Core& core) {
  const kit::Routes routes(router, core);
  // Which capability a path needs is for the gateway's own routes to say: admission.h.
  for (const Method method :
       {Method::Get, Method::Put, Method::Post, Method::Delete, Method::Options, Method::Patch}) {
    routes.add(method, "/{path...}", Access::open(), serve);
  }
}

void add_operator_routes(http::Router& router, Core& core) {
  const Access access = Access::needs(auth::Scope::kGatewayAdmin);
  kit::Routes(router, core)
      .list(kTenantList, access, show_tenants)
      .list(kUpstreamList, access, show_upstreams)
      .add(Method::Post, "/admin/upstreams/{name}/drain", access, drain)
      .add(Method::Post, "/admin/upstreams/{name}/undrain", access, undrain);
}

}  // namespace ron::gateway
