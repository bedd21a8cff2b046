#include "http/loop_context.h"

#include "http/http_date.h"
#include "http/metric_names.h"
#include "runtime/metric_names.h"

namespace ron::http {

LoopContext::LoopContext(const Router& router_in, Ingress& ingress_in, runtime::Meters& meters,
                         const ServerLogs& logs, const platform::Clock& clock_in,
                         std::uint64_t seed, std::string_view standing_lines_in)
    : router(router_in),
      ingress(ingress_in),
      log(logs.log),
      access(logs.access),
      clock(clock_in),
      standing_lines(standing_lines_in),
      random(seed),
      connections_total(meters.counter(metrics::kConnectionsTotal)),
      sent_bytes(meters.counter(metrics::kSentBytesTotal)),
      read_timeouts(meters.counter(runtime::metrics::kIoTimeoutsTotal, {"read"})),
      write_timeouts(meters.counter(runtime::metrics::kIoTimeoutsTotal, {"write"})),
      idle_timeouts(meters.counter(runtime::metrics::kIoTimeoutsTotal, {"idle"})),
      clients_gone(meters.counter(metrics::kCanceledTotal, {"client-gone"})),
      deadlines_passed(meters.counter(metrics::kCanceledTotal, {"deadline"})),
      event_streams(meters.gauge(metrics::kEventStreams)) {}

std::string_view LoopContext::first_lines() {
  const std::int64_t second = clock.unix_ms() / 1000;
  if (second != date_second_) {
    date_second_ = second;
    const auto date = print_http_date(second);
    first_lines_ = "Date: ";
    first_lines_.append(date.data(), date.size()).append("\r\n").append(standing_lines);
  }
  return first_lines_;
}

base::Ulid LoopContext::new_corr_id() {
  const std::uint64_t high = random.next();
  return {static_cast<std::uint64_t>(clock.unix_ms()), static_cast<std::uint16_t>(high),
          random.next()};
}

}  // namespace ron::http
