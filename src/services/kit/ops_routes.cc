#include "services/kit/ops_routes.h"

#include <utility>

#include "base/json.h"
#include "http/uri.h"
#include "observe/prometheus.h"
#include "services/kit/list.h"

namespace ron::kit {
namespace {

using http::Method;
using http::Request;
using http::Response;
using platform::Task;

// Coroutines take what they need by value; the closures around them only make the copies.
Task<Response> answer(Response response) { co_return response; }

Response readyz(const Readiness& state) {
  std::string body;
  base::JsonWriter json(body);
  json.begin_object().key("ready").value(state.ready).key("write_ready").value(state.write_ready);
  json.key("degraded").value(state.degraded).key("missing").begin_array();
  for (const std::string& what : state.missing) json.value(what);
  json.end_array();
  if (!state.ready) json.key("retry_after").value(1);
  json.end_object();
  Response response = Response::json(state.ready ? 200 : 503, std::move(body));
  if (!state.ready) response.add("Retry-After", "1");
  return response;
}

void add_light(http::Router& router, std::string pattern, std::function<Response(Request*)> make) {
  router.add(
      {.method = Method::Get,
       .pattern = std::move(pattern),
       .access = auth::Access::open(),
       .handler = [make = std::move(make)](Request* request) { return answer(make(request)); },
       .weight = http::Weight::Light});
}

Response topology(const std::vector<const runtime::Topology*>& all, Request* request) {
  http::UriScratch scratch;
  const auto format = http::find_param(request->query, "format", scratch);
  if (!format) return Response::error(format.error().error(), request->corr_id);
  std::string out;
  if (*format == "mermaid") {
    for (const runtime::Topology* each : all) out += runtime::to_mermaid(each->wires());
    return Response::text(200, std::move(out), "text/plain; charset=utf-8");
  }
  out = "[";
  for (const runtime::Topology* each : all)
    out += (out.size() > 1 ? "," : "") + runtime::to_json(*each);
  return Response::json(200, out + "]");
}

}  // namespace

std::string_view version() noexcept { return RON_VERSION; }

void add_health_routes(http::Router& router, std::string service,
                       std::function<Readiness()> readiness) {
  add_light(router, "/healthz", [](Request*) { return Response::json(200, R"({"alive":true})"); });
  add_light(router, "/readyz",
            [readiness = std::move(readiness)](Request*) { return readyz(readiness()); });
  std::string body;
  base::JsonWriter json(body);
  json.begin_object().key("name").value("ron").key("version").value(version());
  json.key("service").value(service).end_object();
  add_light(router, "/version", [body](Request*) { return Response::json(200, body); });
}

void add_admin_routes(http::Router& router, AdminSources sources) {
  add_light(router, std::string(kMetricsList.pattern),
            [meters = std::move(sources.meters)](Request*) {
              std::string out;
              observe::append_prometheus(out, meters);
              return Response::text(200, std::move(out), observe::kPrometheusContentType);
            });
  add_light(
      router, std::string(kTopologyList.pattern),
      [all = std::move(sources.topologies)](Request* request) { return topology(all, request); });
  add_light(router, std::string(kConfigList.pattern),
            [config = std::move(sources.config_json)](Request*) {
              return Response::json(200, config());
            });
}

}  // namespace ron::kit
