// The auditor: takes what a service announces and writes it to the log.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <variant>

#include "observe/log.h"
#include "platform/clock.h"
#include "platform/task.h"
#include "runtime/broadcast.h"
#include "runtime/shutdown.h"

namespace ron::kit {

// Says one event. Must not wait.
template <class Event>
using Tell = std::function<void(const observe::Log&, const Event&)>;

// That events were missed is said at most so often, with how many.
inline constexpr std::int64_t kMissedEveryMs = 5000;

// The body of a supervised task: until stopped, or the channel is closed.
template <class Event>
platform::Task<void> audit(runtime::Broadcast<Event>* events, const platform::Clock* clock,
                           observe::Log log, Tell<Event> tell, runtime::Shutdown shutdown) {
  auto subscription = events->subscribe();
  observe::LogLimiter limit(kMissedEveryMs);
  std::uint64_t missed = 0;
  for (;;) {
    auto received = co_await subscription.recv_or_stop(shutdown);
    if (!received) co_return;
    if (const auto* lagged = std::get_if<runtime::Lagged>(&*received)) {
      missed += lagged->missed;
      if (limit.admit(clock->unix_ms())) {
        log.warn("events missed", {{"missed", std::exchange(missed, 0)}});
      }
    } else {
      tell(log, std::get<Event>(*received));
    }
  }
}

}  // namespace ron::kit
