#include "http/ingress.h"

#include <algorithm>
#include <string>
#include <utility>

#include "http/metric_names.h"
#include "http/request_deadline.h"
#include "platform/client_network.h"
#include "runtime/metric_names.h"

namespace ron::http {

using base::Code;
using base::fail;

RejectionMeters::RejectionMeters(runtime::Meters& meters)
    : connections(meters.counter(runtime::metrics::kRejectedTotal, {"connections"})),
      peer(meters.counter(runtime::metrics::kRejectedTotal, {"peer"})),
      tls(meters.counter(runtime::metrics::kRejectedTotal, {"tls"})),
      connections_per_ip(meters.counter(runtime::metrics::kRejectedTotal, {"connections-per-ip"})),
      head(meters.counter(runtime::metrics::kRejectedTotal, {"head"})),
      body_cap(meters.counter(runtime::metrics::kRejectedTotal, {"body-cap"})),
      decoded_cap(meters.counter(runtime::metrics::kRejectedTotal, {"decoded-cap"})),
      decoded_ratio(meters.counter(runtime::metrics::kRejectedTotal, {"decoded-ratio"})),
      rate(meters.counter(runtime::metrics::kRejectedTotal, {"rate"})),
      inflight(meters.counter(runtime::metrics::kRejectedTotal, {"inflight"})),
      capability(meters.counter(runtime::metrics::kRejectedTotal, {"capability"})) {}

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
  const platform::IpAddress network = platform::client_network(peer);
  admission.address = addresses_.try_enter(network, settings.max_conns_per_ip);
  if (!admission.address) {
    rejections.connections_per_ip.add();
    return fail(base::Error(Code::Busy, "this address has all the connections it may have")
                    .with("max_conns_per_ip", std::to_string(settings.max_conns_per_ip))
                    .with("address", platform::network_text(network)));
  }
  return admission;
}

// In this order, and for these reasons.
constinit const std::array<Ingress::Stage, 6> Ingress::kStages = {{
    // A declared length over the cap is refused unread (413).
    {"body cap", &Ingress::check_length, true, true},
    // So are unknown and nested codings (415, 413).
    {"decode guard", &Ingress::check_coding, true, true},
    // Cheap, so it protects everything behind it (429).
    {"rate", &Ingress::check_rate, false, false},
    // Bounds memory and latency of admitted work (429). An answer that waits for its reader is no
    // work: the connection caps bound those.
    {"in-flight", &Ingress::take_place, false, true},
    // Admitted work knows when nobody waits any more (504).
    {"deadline", &Ingress::set_deadline, false, true},
    // Cryptography only for requests that fit (401, 403).
    {"capability", &Ingress::check_capability, false, true},
}};

base::Result<void> Ingress::admit(Passage& passage) {
  const bool is_light = passage.route.weight == Weight::Light;
  for (const Stage& stage : kStages) {
    if (is_light && !stage.for_light_routes) continue;
    if (passage.within_process && !stage.within_process) continue;
    base::Result<void> passed = (this->*stage.check)(passage);
    if (!passed) return passed;
  }
  return {};
}

base::Result<void> Ingress::check_length(Passage& passage) {
  const std::uint64_t length = passage.request.head->content_length.value_or(0);
  if (length <= passage.settings.max_body_bytes.bytes) return {};
  rejections.body_cap.add();
  return fail(body_too_large(passage.settings.body_limits())
                  .with("content_length", std::to_string(length)));
}

base::Result<void> Ingress::check_coding(Passage& passage) {
  if (!passage.request.head->has(KnownField::ContentEncoding)) return {};
  const Checked<Coding> coding = content_coding(*passage.request.head);
  if (coding) {
    passage.coding = *coding;
    return {};
  }
  rejections.decoded_cap.add();
  return fail(coding.error().error());
}

base::Result<void> Ingress::check_rate(Passage& passage) {
  if (rate_.try_take(passage.now)) return {};
  rejections.rate.add();
  return fail(base::Error(Code::RateLimited, "more requests than the server's rate limit")
                  .with("max_rps", std::to_string(passage.settings.max_rps)));
}

base::Result<void> Ingress::take_place(Passage& passage) {
  passage.permit = inflight_.try_acquire();
  if (passage.permit) return {};
  rejections.inflight.add();
  passage.meters.busy_rejections.add();
  return fail(base::Error(Code::Busy, "the server works on all the requests it may work on")
                  .with("max_inflight", std::to_string(passage.settings.max_inflight)));
}

// What the client asks for counts if it is sooner, and so does the deadline that a request which is
// handed on came with.
base::Result<void> Ingress::set_deadline(Passage& passage) {
  const base::Duration most = passage.settings.request_deadline;
  const auto asked = requested_time(*passage.request.head, passage.clock);
  const runtime::Deadline own(passage.now + std::min(asked.value_or(most), most));
  passage.request.deadline = passage.request.deadline.sooner(own);
  return {};
}

base::Result<void> Ingress::check_capability(Passage& passage) {
  base::Result<void> authorized = authorize_(passage.request, passage.route);
  if (!authorized) rejections.capability.add();
  return authorized;
}

}  // namespace ron::http
