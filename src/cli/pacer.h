// Pacer: how fast a client asks a server that limits the rate of requests.
//
// Nothing is held back until the server refuses a request for its rate. From then on the client
// keeps the same account as the server does: as many requests as the rate it named, and after a
// pause those that were not sent meanwhile, up to a second's worth. A lone client so uses all of
// the rate and is hardly refused again. Where others share it, each new refusal slows this client
// down a little, and time without one lets it ask faster again.
//
// A plain value: time comes in. One executor.
#pragma once

#include <cstdint>

#include "base/units.h"
#include "platform/executor.h"

namespace ron::cli {

class Pacer {
 public:
  // When the next request is to be sent, now or later. It counts as sent and is in flight from now
  // until answered().
  platform::TimePoint next(platform::TimePoint now) noexcept;
  // It has ended, however it did.
  void answered() noexcept { --in_flight_; }

  // A request sent at `sent` was refused for the server's rate, which it said is `most_per_second`,
  // 0 if it did not, and that there is no point in asking for another `wait`.
  void refused(platform::TimePoint now, platform::TimePoint sent, std::uint64_t most_per_second,
               base::Duration wait) noexcept;

 private:
  std::int64_t in_flight_ = 0;
  double most_ = 0;  // requests per second, as the server said; 0: no limit is known
  double rate_ = 0;  // at most `most_`
  platform::TimePoint raised_{};
  platform::TimePoint lowered_{};
  platform::TimePoint
      next_{};  // when the next request is due; in the past if there are some to spare
};

}  // namespace ron::cli
