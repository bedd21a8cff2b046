// Admission: what a request passes between the server's own stages (http/ingress.h) and its
// upstream. Nothing here waits, and no upstream hears of a request that does not get through.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "http/request.h"
#include "http/response.h"
#include "runtime/meter.h"
#include "services/gateway/client_address.h"
#include "services/gateway/fair_queue.h"
#include "services/gateway/health.h"
#include "services/gateway/routing.h"
#include "services/gateway/tenant.h"
#include "services/kit/capability_gate.h"

namespace ron::gateway {

// A request between the door and its upstream: what the stages look at and leave behind.
struct Visit {
  http::Request& request;
  const Routing& routing;
  platform::TimePoint now;

  const Route* route = nullptr;
  ClientAddress client{};
  std::string_view origin{};  // of the page that asks, if it may
  TenantPtr tenant{};

  [[nodiscard]] bool is_read() const noexcept {
    const http::Method method = request.head->method;
    return method == http::Method::Get || method == http::Method::Head ||
           method == http::Method::Options;
  }
  // Its answer may be another for pages of another origin: caches are told so.
  [[nodiscard]] bool varies_by_origin() const {
    if (route == nullptr || leaves_origins_to_upstream()) return false;
    return !route->cors.empty() || request.head->find("Origin").has_value();
  }
  // Whom it counts for: admission has found that out.
  [[nodiscard]] http::ClientShare share() const noexcept {
    using Kind = http::ClientShare::Kind;
    if (!request.tenant.empty()) return {Kind::Tenant, request.tenant};
    if (client.is_local) return {};
    return {Kind::Address, client.tenant.view()};
  }
  // Which pages may use it is for its upstream to say: the route says nothing of them.
  [[nodiscard]] bool leaves_origins_to_upstream() const {
    const auto& upstreams = routing.upstreams;
    return route->cors.empty() && route->upstream < upstreams.size() &&
           upstreams[route->upstream]->judges_origins();
  }
};

class Admission {
 public:
  // All of them outlive it.
  Admission(runtime::Meters& meters, const kit::CapabilityGate& gate, TenantTable& tenants,
            const FairQueue& queue, const Health& health);
  Admission(const Admission&) = delete;
  Admission& operator=(const Admission&) = delete;

  // Nothing: the upstream may be asked. Otherwise the answer.
  std::optional<http::Response> admit(Visit& visit) const;

  struct Stage {
    std::string_view name;
    std::optional<http::Response> (Admission::*check)(Visit&) const;
  };
  // A constant, so that the order below is the order there is.
  static const std::array<Stage, 7> kStages;

 private:
  std::optional<http::Response> check_host(Visit& visit) const;
  std::optional<http::Response> find_route(Visit& visit) const;
  std::optional<http::Response> check_method(Visit& visit) const;
  std::optional<http::Response> check_origin(Visit& visit) const;
  std::optional<http::Response> check_capability(Visit& visit) const;
  std::optional<http::Response> check_rate(Visit& visit) const;
  std::optional<http::Response> check_health(Visit& visit) const;

  const kit::CapabilityGate& gate_;
  TenantTable& tenants_;
  const FairQueue& queue_;
  const Health& health_;
  runtime::Counter& bad_host_;
  runtime::Counter& no_route_;
  runtime::Counter& bad_method_;
  runtime::Counter& bad_origin_;
  runtime::Counter& no_capability_;
  runtime::Counter& over_rate_;
  runtime::Counter& shed_;
};

}  // namespace ron::gateway
