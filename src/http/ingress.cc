#include "http/ingress.h"

#include <cstring>
#include <string>
#include <utility>

#include "http/metric_names.h"
#include "runtime/metric_names.h"

namespace ron::http {

using base::Code;
using base::fail;

AddressCap::Place AddressCap::try_enter(const std::array<std::uint8_t, 16>& ip, std::size_t most) {
  const std::lock_guard lock(mutex_);
  std::size_t& open = open_[ip];
  if (open >= most) return {};
  ++open;
  return {this, ip};
}

void AddressCap::leave(const std::array<std::uint8_t, 16>& ip) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = open_.find(ip);
  if (--found->second == 0) open_.erase(found);
}

std::size_t AddressCap::Hash::operator()(const std::array<std::uint8_t, 16>& ip) const noexcept {
  std::array<std::uint64_t, 2> words{};
  std::memcpy(words.data(), ip.data(), sizeof words);
  return (words[0] * 0x9E3779B97F4A7C15ULL) ^ (words[1] * 0xC2B2AE3D27D4EB4FULL);
}

RejectionMeters::RejectionMeters(runtime::Meters& meters)
    : connections(meters.counter(runtime::metrics::kRejectedTotal, {"connections"})),
      peer(meters.counter(runtime::metrics::kRejectedTotal, {"peer"})),
      tls(meters.counter(runtime::metrics::kRejectedTotal, {"tls"})),
      connections_per_ip(meters.counter(runtime::metrics::kRejectedTotal, {"connections-per-ip"})),
      head(meters.counter(runtime::metrics::kRejectedTotal, {"head"})),
      body_cap(meters.counter(runtime::metrics::kRejectedTotal, {"body-cap"})),
      decode(meters.counter(runtime::metrics::kRejectedTotal, {"decoded-cap"})),
      rate(meters.counter(runtime::metrics::kRejectedTotal, {"rate"})),
      inflight(meters.counter(runtime::metrics::kRejectedTotal, {"inflight"})),
      capability(meters.counter(runtime::metrics::kRejectedTotal, {"capability"})) {}

runtime::Counter& RejectionMeters::of(base::Code code) noexcept {
  return code == Code::BodyCap ? body_cap : decode;
}

Ingress::Ingress(runtime::Meters& meters, const ServerSettings& settings, Authorize authorize)
    : rejections(meters),
      connections_(settings.max_conns),
      inflight_(settings.max_inflight),
      rate_(settings.max_rps, settings.max_rps),
      authorize_(std::move(authorize)),
      open_gauge_(
          meters.gauge_fn(metrics::kConnections, {},
                          [this] { return static_cast<std::int64_t>(connections_.used()); })),
      inflight_gauge_(meters.gauge_fn(
          metrics::kInflight, {}, [this] { return static_cast<std::int64_t>(inflight_.used()); })) {
}

void Ingress::apply(const ServerSettings& settings, platform::TimePoint now) noexcept {
  connections_.set_most(settings.max_conns);
  inflight_.set_most(settings.max_inflight);
  rate_.set_rate(now, settings.max_rps, settings.max_rps);
}

base::Result<Ingress::Admission> Ingress::admit_connection(const platform::Endpoint& peer,
                                                           const ServerSettings& settings) {
  Admission admission;
  admission.connection = connections_.try_acquire();
  if (!admission.connection) {
    rejections.connections.add();
    return fail(base::Error(Code::Busy, "the server has all the connections it may have")
                    .with("max_conns", std::to_string(settings.max_conns)));
  }
  if (peer.is_unix())
    return admission;  // clients of this machine have no address to tell them apart
  admission.address = addresses_.try_enter(peer.ip, settings.max_conns_per_ip);
  if (!admission.address) {
    rejections.connections_per_ip.add();
    return fail(base::Error(Code::Busy, "this address has all the connections it may have")
                    .with("max_conns_per_ip", std::to_string(settings.max_conns_per_ip)));
  }
  return admission;
}

base::Result<Coding> Ingress::check_body(const RequestHead& head,
                                         const ServerSettings& settings) const {
  if (head.content_length.value_or(0) > settings.max_body_bytes.bytes) {
    const std::string length = std::to_string(*head.content_length);
    return fail(body_too_large(settings).with("content_length", length));
  }
  if (!head.has(KnownField::ContentEncoding)) return Coding::Identity;
  const Checked<Coding> coding = content_coding(head);
  if (!coding) return fail(coding.error().error());
  return *coding;
}

base::Result<runtime::Limit::Permit> Ingress::admit(Request& request, const Route& route,
                                                    RouteMeters& meters,
                                                    const ServerSettings& settings,
                                                    platform::TimePoint now) {
  if (const auto taken = rate_.try_take(now); !taken) {
    rejections.rate.add();
    return fail(base::Error(Code::RateLimited, "more requests than the server's rate limit")
                    .with("max_rps", std::to_string(settings.max_rps)));
  }
  runtime::Limit::Permit permit = inflight_.try_acquire();
  if (!permit) {
    rejections.inflight.add();
    meters.busy_rejections.add();
    return fail(base::Error(Code::Busy, "the server works on all the requests it may work on")
                    .with("max_inflight", std::to_string(settings.max_inflight)));
  }
  request.deadline = runtime::Deadline(now + settings.request_deadline);
  const base::Result<void> authorized = authorize_(request, route);
  if (!authorized) {
    rejections.capability.add();
    return fail(authorized.error());
  }
  return permit;
}

}  // namespace ron::http
