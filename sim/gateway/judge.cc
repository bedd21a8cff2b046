#include "sim/gateway/judge.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "services/gateway/fair_queue.h"

namespace ron::sim {
namespace {

using base::Code;
using gateway::GatewayConfig;
using gateway::RouteConfig;

std::shared_ptr<const GatewayConfig> settings_of(const Era& era) {
  return era.config->get(gateway::gateway_section());
}

std::optional<RouteConfig> route_of(const Era& era, std::string_view prefix) {
  const auto& rows = settings_of(era)->routes;
  const auto found = std::ranges::find(rows, prefix, &RouteConfig::prefix);
  return found == rows.end() ? std::nullopt : std::optional(*found);
}

// How long a gateway may suffer from the trouble a member was in: what its probes said, an
// ejection, a breaker that is open, a connection that was kept and is dead.
Duration memory_of(const GatewayConfig& config) {
  const gateway::UpstreamConfig& upstream = config.upstream;
  return 3 * 2 * (upstream.probe_interval + upstream.probe_timeout) +
         http::UpstreamPolicy::kLongestEjection * upstream.eject_for + 2 * config.breaker.open_for +
         config.breaker.window + upstream.deadline + http::ClientSettings().idle_timeout;
}

}  // namespace

bool GatewayJudge::is_passed_on() const { return !answer_.field("x-marker").empty(); }

bool GatewayJudge::network_may_break() const {
  const platform::sim::FaultPlan& faults = facts_.plan.world.faults;
  return faults.reset_segment != 0 || faults.refuse_connect != 0 || faults.fail_accept != 0 ||
         faults.lose_segment != 0;
}

// Its upstream did wrong by this request, or by others so lately that the gateway knows of it.
bool GatewayJudge::was_troubled() const {
  const Errand* const errand = facts_.book.find(base_.corr_id);
  if (errand != nullptr && errand->met_misdeed()) return true;
  return any([&](const Era& era) {
    return facts_.book.troubled(group(), x_.begun - memory_of(*settings_of(era)), x_.ended);
  });
}

bool GatewayJudge::route_may_be_missing() const {
  return any([&](const Era& era) { return !route_of(era, group().prefix); });
}

bool GatewayJudge::method_may_be_missing() const {
  return any([&](const Era& era) {
    const auto route = route_of(era, group().prefix);
    if (!route || route->methods.empty()) return false;
    const std::string& method = request_->method == "HEAD" ? "GET" : request_->method;
    return std::ranges::find(route->methods, method) == route->methods.end();
  });
}

// Never before the shortest of the times that there are.
bool GatewayJudge::may_have_timed_out() const {
  return any([&](const Era& era) {
    const auto settings = settings_of(era);
    Duration least = std::min({settings->upstream.connect_timeout, settings->upstream.deadline,
                               settings->server.request_deadline});
    const auto route = route_of(era, group().prefix);
    if (route && route->deadline > Duration::zero()) least = std::min(least, route->deadline);
    return x_.ended - x_.begun >= least;
  });
}

// A tenant may send as many at once as it may in a second.
bool GatewayJudge::is_over_rate() const {
  const auto found = facts_.by_tenant.find({x_.life_number, request_->tenant()});
  const std::uint64_t asked = found == facts_.by_tenant.end() ? 0 : found->second;
  return x_.life->any(TimePoint(), x_.ended,
                      [&](const Era& era) { return asked > settings_of(era)->drr.rate_limit_rps; });
}

bool GatewayJudge::has_failed_task() const {
  return std::ranges::any_of(x_.life->task_failures,
                             [this](TimePoint failed) { return failed <= x_.ended; });
}

bool GatewayJudge::has_upstream_reason(Code code) const {
  switch (code) {
    case Code::UpstreamFail:
      return was_troubled() || network_may_break();
    case Code::Timeout:
      return may_have_timed_out();
    case Code::BreakerOpen:
      return facts_.witness.breaker_was_open(group(), x_.begun, x_.ended);
    case Code::NotFound:
      return route_may_be_missing();
    case Code::MethodNotAllowed:
      return method_may_be_missing();
    default:
      return false;
  }
}

bool GatewayJudge::has_own_reason(Code code) const {
  if (request_ == nullptr) return false;
  const bool is_routed = request_->group || request_->object;
  if (request_->group && has_upstream_reason(code)) return true;
  switch (code) {
    case Code::NotFound:
      return request_->is_missing || (request_->object && request_->reads());
    case Code::Malformed:
      return request_->foreign_host &&
             any([](const Era& era) { return !settings_of(era)->hosts.empty(); });
    case Code::RateLimited:
      return is_routed && is_over_rate();
    case Code::Busy:
      return is_routed && x_.refusals != nullptr && x_.refusals->any("work", x_.begun, x_.ended);
    case Code::Degraded: {
      const bool shed = !request_->reads() && facts_.witness.shed_writes(x_.begun, x_.ended);
      const bool dropped = facts_.witness.dropped_turns(x_.begun, x_.ended) || has_failed_task();
      // Drained by an operator, which is an outage like others.
      const bool drained = request_->group && was_troubled();
      return is_routed && (shed || dropped || drained);
    }
    default:
      return false;
  }
}

bool GatewayJudge::may_be_unready() const {
  if (has_failed_task()) return true;
  // A service of the same process is always there.
  if (facts_.plan.with_storage) return false;
  return network_may_break() || facts_.book.any_trouble(x_.life->opened, x_.ended);
}

// Every 429 that is about a tenant says whose share it is, how much that is, and when to come back.
Wrong GatewayJudge::judge_receipt(Code code) const {
  const auto detail = [this](std::string_view key) { return json_text(answer_.body, key); };
  if (detail("tenant").empty()) {
    const bool server_was_full =
        x_.refusals != nullptr && (x_.refusals->any("max_inflight", x_.begun, x_.ended) ||
                                   x_.refusals->any("max_conns", x_.called, x_.ended) ||
                                   x_.refusals->any("max_conns_per_ip", x_.called, x_.ended));
    const bool server_was_quick = x_.life->any(TimePoint(), x_.ended, [this](const Era& era) {
      return x_.heavy_requests >= era.settings->server.max_rps;
    });
    const bool is_the_servers = code == Code::Busy ? server_was_full : server_was_quick;
    return is_the_servers ? Wrong() : "a 429 without a receipt: " + answer_.body;
  }
  const std::string own = request_->tenant();
  if (!own.empty() && detail("tenant") != own) return "the receipt of another tenant";
  if (own.empty() && !detail("tenant").starts_with("10.0.")) return "a receipt for nobody";
  double share = -1;
  const std::string_view digits = detail("share");
  std::from_chars(digits.data(), digits.data() + digits.size(), share);
  if (share < 0 || share > 1) return "a share of " + std::string(digits);
  const bool known_quantum = any([&](const Era& era) {
    const gateway::DrrConfig& drr = settings_of(era)->drr;
    const auto own_quantum = drr.tenant_quanta.find(own);
    const std::uint64_t quantum =
        own_quantum == drr.tenant_quanta.end() ? drr.default_quantum : own_quantum->second;
    return detail("quantum") == std::to_string(quantum);
  });
  if (!known_quantum) return "a quantum of " + std::string(detail("quantum"));
  if (detail("queue_depth").empty()) return "a receipt without the queue's depth";
  if (detail("retry_after") != answer_.field("retry-after")) return "two times to come back";
  return std::nullopt;
}

Wrong GatewayJudge::judge_own_refusal(Code code) {
  const bool is_about_share = code == Code::Busy || code == Code::RateLimited;
  const bool has_envelope = request_ != nullptr && !base_.to_head;
  if (is_about_share && has_envelope) return judge_receipt(code);
  const bool acknowledged = request_ != nullptr && request_->object && code == Code::NotFound &&
                            facts_.stored.contains({x_.life_number, *request_->object}) &&
                            facts_.stored.at({x_.life_number, *request_->object}) < x_.begun;
  if (acknowledged) return "an object that was acknowledged is gone";
  return std::nullopt;
}

Wrong GatewayJudge::judge_passed_on() const {
  const Errand* const errand = facts_.book.find(base_.corr_id);
  const Sighting* const given =
      errand == nullptr ? nullptr : facts_.book.marked(*errand, answer_.field("x-marker"));
  if (given == nullptr) {
    return "the answer to another request: " + std::string(answer_.field("x-marker"));
  }
  if (answer_.status != given->status) return "another status than the upstream's";
  if (!answer_.field("x-hop").empty()) return "a field of the connection behind";
  if (!x_.sent_whole && given->deed != Deed::Early) return "success of half a request";
  if (!is_allowed()) return "passed on without a capability";
  const bool fits_body = any([this](const Era& era) {
    return base_.encoded_bytes <= era.settings->server.max_body_bytes.bytes;
  });
  if (!fits_body && given->deed != Deed::Early) return "passed on over the limit";
  const bool has_route =
      any([&](const Era& era) { return route_of(era, group().prefix).has_value(); });
  if (!has_route) return "passed on without a route";
  if (base_.to_head) {
    const bool says_length = !answer_.field("content-length").empty();
    const bool same = !says_length || answer_.content_length == given->body.size();
    return same ? Wrong() : "another length than the upstream's";
  }
  if (answer_.body != given->body) {
    return "another body than the upstream's: " + std::to_string(answer_.body.size()) +
           " bytes instead of " + std::to_string(given->body.size());
  }
  return std::nullopt;
}

Wrong GatewayJudge::judge_object() const {
  const std::string& bytes = facts_.plan.objects[*request_->object];
  if (!is_allowed()) return "served without a capability";
  if (request_->has_body) {
    if (answer_.status != 200 && answer_.status != 201) return "unexpected status of a store";
    return json_text(answer_.body, "address") == object_address(bytes) ? Wrong() : "wrong address";
  }
  if (answer_.status != 200) return "unexpected status of a read";
  return answer_.body == bytes ? Wrong() : "wrong bytes";
}

Wrong GatewayJudge::judge_success() {
  if (request_ == nullptr) return std::nullopt;
  if (request_->group) {
    return is_passed_on() ? judge_passed_on() : "an answer that no upstream gave";
  }
  if (request_->object) return judge_object();
  const bool is_health = !request_->is_missing && answer_.status == 200;
  return is_health ? Wrong() : "success where there is nothing to succeed";
}

}  // namespace ron::sim
