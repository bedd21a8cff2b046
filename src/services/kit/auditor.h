// The auditor: takes what a service announces and writes it to the log.
#pragma once

#include <functional>
#include <utility>
#include <variant>

#include "observe/log.h"
#include "platform/task.h"
#include "runtime/broadcast.h"
#include "runtime/shutdown.h"

namespace ron::kit {

// Says one event. Must not wait.
template <class Event>
using Tell = std::function<void(const observe::Log&, const Event&)>;

// The body of a supervised task: until stopped, or the channel is closed.
template <class Event>
platform::Task<void> audit(runtime::Broadcast<Event>* events, observe::Log log, Tell<Event> tell,
                           runtime::Shutdown shutdown) {
  auto subscription = events->subscribe();
  for (;;) {
    auto received = co_await subscription.recv_or_stop(shutdown);
    if (!received) co_return;
    if (const auto* lagged = std::get_if<runtime::Lagged>(&*received)) {
      log.warn("events missed", {{"missed", lagged->missed}});
    } else {
      tell(log, std::get<Event>(*received));
    }
  }
}

}  // namespace ron::kit
