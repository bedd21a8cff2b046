#include "http/settings.h"

#include <string>
#include <utility>

namespace ron::http {

base::Error body_too_large(const BodyLimits& limits) {
  std::string message = "the body is larger than " + base::print(base::Size{limits.max_body_bytes});
  const std::string_view advice = limits.larger_body_advice;
  if (!advice.empty()) message.append("; ").append(advice);
  return base::Error(base::Code::BodyCap, std::move(message))
      .with("limit_bytes", std::to_string(limits.max_body_bytes));
}

config::Group<ServerSettings> server_keys() {
  using config::Reload;
  using S = ServerSettings;
  return {
      config::size_key("limits.max_body_bytes", &S::max_body_bytes, "1MiB",
                       {.min = "1KiB", .max = "64MiB", .safe_max = "1MiB"}, Reload::Hot,
                       "largest request body; a larger one is 413 BodyCap"),
      config::size_key("limits.decode_abs_cap_bytes", &S::decode_abs_cap_bytes, "8MiB",
                       {.min = "1KiB", .max = "256MiB", .safe_max = "8MiB"}, Reload::Hot,
                       "largest body after decoding; a larger one is 413 DecodedCap"),
      config::count_key(
          "limits.decode_ratio_max", &S::decode_ratio_max, "10",
          {.min = "1", .max = "1000", .safe_max = "10"}, Reload::Hot,
          "most bytes a body may expand to per byte received; above it is 413 DecodedRatio"),
      config::count_key("server.max_inflight", &S::max_inflight, "512",
                        {.min = "1", .max = "1000000"}, Reload::Hot,
                        "requests in flight before 429 Busy"),
      config::count_key(
          "server.max_rps", &S::max_rps, "500",
          {.min = "1", .max = "100000000", .unit = "requests per second"}, Reload::Hot,
          "requests per second before 429 RateLimited; bursts of one second are let through"),
      config::duration_key("server.request_deadline", &S::request_deadline, "30s",
                           {.min = "10ms", .max = "1h"}, Reload::Hot,
                           "time a request may take until its answer begins; then 504 Timeout"),
      config::count_key("max_conns", &S::max_conns, "1024", {.min = "1", .max = "1000000"},
                        Reload::Hot,
                        "open connections; further ones are answered 429 Busy and closed"),
      config::count_key("max_conns_per_ip", &S::max_conns_per_ip, "256",
                        {.min = "1", .max = "1000000"}, Reload::Hot,
                        "open connections from one address, or network of 64 bits of IPv6"),
      config::duration_key("read_timeout", &S::read_timeout, "5s", {.min = "10ms", .max = "10m"},
                           Reload::Hot,
                           "time for a request head to arrive, and for 4KiB more of a body"),
      config::duration_key("write_timeout", &S::write_timeout, "5s", {.min = "10ms", .max = "10m"},
                           Reload::Hot, "time without progress after which a reader is cut off"),
      config::duration_key("idle_timeout", &S::idle_timeout, "60s", {.min = "10ms", .max = "1h"},
                           Reload::Hot, "time a connection may wait between two requests"),
  };
}

}  // namespace ron::http
