#include "services/gateway/admission.h"

#include <string>
#include <utility>

#include "runtime/metric_names.h"
#include "services/gateway/forward_head.h"
#include "services/gateway/metric_names.h"
#include "services/kit/cors.h"

namespace ron::gateway {
namespace {

using base::Code;
using base::Error;
using http::Method;
using http::Response;

Response refusal(const Visit& visit, const Error& error) {
  return Response::error(error, visit.request.corr_id);
}

}  // namespace

Admission::Admission(runtime::Meters& meters, const kit::CapabilityGate& gate, TenantTable& tenants,
                     const FairQueue& queue, const Health& health)
    : gate_(gate),
      tenants_(tenants),
      queue_(queue),
      health_(health),
      bad_host_(meters.counter(metrics::kRefusedTotal, {"host"})),
      no_route_(meters.counter(metrics::kRefusedTotal, {"route"})),
      bad_method_(meters.counter(metrics::kRefusedTotal, {"method"})),
      bad_origin_(meters.counter(metrics::kRefusedTotal, {"origin"})),
      no_capability_(meters.counter(runtime::metrics::kRejectedTotal, {"capability"})),
      over_rate_(meters.counter(metrics::kRefusedTotal, {"rate"})),
      shed_(meters.counter(metrics::kRefusedTotal, {"degraded"})) {}

// In this order, and for these reasons.
constinit const std::array<Admission::Stage, 7> Admission::kStages = {{
    // A page that points its own name at this machine is somebody else's page (400).
    {"host", &Admission::check_host},
    // Everything else depends on it (404).
    {"route", &Admission::find_route},
    // What the route never does needs no further look (405).
    {"method", &Admission::check_method},
    // A preflight comes without a capability (403).
    {"origin", &Admission::check_origin},
    // Cryptography only for requests that fit; it says whom to charge (401, 403).
    {"capability", &Admission::check_capability},
    // One tenant's flood is its own (429).
    {"rate", &Admission::check_rate},
    // Writes wait until there is room for them (503).
    {"health", &Admission::check_health},
}};

std::optional<Response> Admission::admit(Visit& visit) const {
  for (const Stage& stage : kStages) {
    if (std::optional<Response> answer = (this->*stage.check)(visit)) return answer;
  }
  return std::nullopt;
}

std::optional<Response> Admission::check_host(Visit& visit) const {
  const std::string_view host = visit.request.head->host;
  if (host.size() <= ForwardHead::kHostBytes && visit.routing.answers_to(host)) return std::nullopt;
  bad_host_.add();
  return refusal(visit, {Code::Malformed, "this server does not answer to that Host"});
}

std::optional<Response> Admission::find_route(Visit& visit) const {
  visit.route = visit.routing.table.find(visit.request.path);
  if (visit.route != nullptr) return std::nullopt;
  no_route_.add();
  return refusal(visit, {Code::NotFound, "no route has this path"});
}

std::optional<Response> Admission::check_method(Visit& visit) const {
  const Method method = visit.request.head->method;
  const bool is_preflight = method == Method::Options && visit.request.head->find("Origin");
  if (is_preflight || visit.route->allows(method)) return std::nullopt;
  bad_method_.add();
  Response response =
      refusal(visit, {Code::MethodNotAllowed, "the route does not have this method"});
  response.add("Allow", visit.route->allow());
  return response;
}

std::optional<Response> Admission::check_origin(Visit& visit) const {
  const auto origin = visit.request.head->find("Origin");
  if (!origin) return std::nullopt;
  const bool allowed = visit.route->allows_origin(*origin);
  if (allowed) visit.origin = *origin;
  if (!kit::is_preflight(visit.request) || visit.leaves_origins_to_upstream()) return std::nullopt;
  const auto method = visit.request.head->find("Access-Control-Request-Method");
  if (!allowed || !visit.route->allows(http::parse_method(*method))) {
    bad_origin_.add();
    return refusal(visit, {Code::NotAllowed, "pages of this origin may not use the route"});
  }
  return kit::allow_preflight(visit.request, visit.route->allow());
}

std::optional<Response> Admission::check_capability(Visit& visit) const {
  http::Request& request = visit.request;
  const Route& route = *visit.route;
  base::Result<void> checked;
  if (!route.is_open) {
    checked = gate_.check(request, visit.is_read() ? auth::Access::read() : route.write);
  }
  if (!checked) {
    no_capability_.add();
    return refusal(visit, checked.error());
  }
  if (request.token.empty()) gate_.identify(request);
  visit.client = client_of(*request.peer, *request.head, visit.routing.trusted_proxies);
  const TenantId id =
      request.tenant.empty() ? TenantId::at(visit.client.tenant) : TenantId::named(request.tenant);
  visit.tenant = tenants_.use(id, visit.now);
  return std::nullopt;
}

std::optional<Response> Admission::check_rate(Visit& visit) const {
  const auto taken = visit.tenant->rate.try_take(visit.now);
  if (taken) return std::nullopt;
  over_rate_.add();
  visit.tenant->rejections.fetch_add(1, std::memory_order_relaxed);
  Error error = queue_.receipt(Code::RateLimited, "more requests than the tenant's rate limit",
                               *visit.tenant);
  return refusal(visit, error);
}

std::optional<Response> Admission::check_health(Visit& visit) const {
  if (visit.is_read() || !health_.sheds_writes()) return std::nullopt;
  shed_.add();
  return refusal(visit, {Code::Degraded, "writes wait until the gateway has room for them"});
}

}  // namespace ron::gateway
