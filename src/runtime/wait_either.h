// Waiting for whichever comes first.
//
//   Background<Response> handling(handler(request));
//   First first = co_await wait_either(handling.finished(), EventOp(stream.gone()), deadline);
//
// An operation is a small value with `Poll poll(Waiter&)` and `void forget(Waiter&)` that consumes
// nothing: what is not first loses nothing.
#pragma once

#include <cstdint>

#include "platform/task.h"
#include "platform/wait.h"
#include "runtime/deadline.h"
#include "runtime/waiting.h"

namespace ron::runtime {

// A level of this executor.
class EventOp {
 public:
  explicit EventOp(platform::Event& event) noexcept : event_(&event) {}
  Poll poll(platform::Waiter& waiter) noexcept {
    return event_->watch(waiter) ? Poll::Ready : Poll::Pending;
  }
  void forget(platform::Waiter& waiter) noexcept { event_->forget(waiter); }

 private:
  platform::Event* event_;
};

// Which of the two was ready or closed first; the one named first wins a tie.
enum class First : std::uint8_t { One, Other, TimedOut };

// TimedOut when the deadline passes before either. Cancel-safe.
template <class One, class Other>
platform::Task<First> wait_either(One one, Other other, Deadline deadline) {
  platform::Parker parker;
  WaiterGuard<One> waits_one(one, parker);
  WaiterGuard<Other> waits_other(other, parker);
  for (;;) {
    if (one.poll(waits_one.get()) != Poll::Pending) co_return First::One;
    if (other.poll(waits_other.get()) != Poll::Pending) co_return First::Other;
    assert_no_locks_held();
    const bool in_time = co_await parker.park(deadline.at());
    if (!in_time) co_return First::TimedOut;
  }
}

}  // namespace ron::runtime
