// How a coroutine waits: one parking place, any number of reasons to be woken.
//
//   Parker parker;                  // in the waiting coroutine's frame
//   Waiter waiter(parker);          // linked into a channel's wait list, under that channel's lock
//   const bool in_time = co_await parker.park(deadline);
//
// A waiter may be woken from any thread: waking posts it to the executor it was made on, so the
// coroutine always resumes at home and never before it has suspended. Whoever pops a waiter from a
// list must wake it while still holding the list's lock; then the owner, holding the same lock,
// either finds the waiter in the list or can take the posted wake-up back. Both live in the frame,
// so aborting the coroutine runs their destructors: the owner unlinks the waiter first (see
// the state machines of runtime).
#pragma once

#include <cassert>
#include <coroutine>
#include <utility>

#include "platform/executor.h"

namespace ron::platform {

class Parker : private Timer {
 public:
  Parker() noexcept : Timer(&Parker::expired), executor_(Executor::current()) {
    assert(executor_ != nullptr && "waiting needs an executor");
  }
  ~Parker() {
    if (armed()) executor_->disarm(*this);
  }

  [[nodiscard]] Executor& executor() const noexcept { return *executor_; }

  // Suspends until a waiter of this parker is woken (true) or the time has come (false).
  // Cancel-safe: destroying the frame disarms the timer; the waiters take care of themselves.
  auto park(TimePoint deadline) noexcept { return Park{*this, deadline}; }

  // Resumes the parked coroutine. Own thread only.
  void resume(bool in_time) noexcept {
    if (!parked_) return;
    if (armed()) executor_->disarm(*this);
    in_time_ = in_time;
    std::exchange(parked_, nullptr).resume();
  }

 private:
  struct Park {
    Parker& parker;
    TimePoint deadline;

    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> frame) noexcept {
      parker.parked_ = frame;
      if (deadline != kNever) parker.executor_->arm(parker, deadline);
    }
    bool await_resume() const noexcept { return parker.in_time_; }
  };

  static void expired(Timer& timer) noexcept { static_cast<Parker&>(timer).resume(false); }

  Executor* executor_;
  std::coroutine_handle<> parked_;
  bool in_time_ = true;
};

class Waiter : private Job {
 public:
  explicit Waiter(Parker& parker) noexcept : Job(&Waiter::woken), parker_(&parker) {}

  // Any thread, holding the lock of the list the waiter was popped from.
  void wake() noexcept { parker_->executor().post(*this); }
  // Takes a posted wake-up back; true if there was one. Own thread only.
  bool take_back() noexcept { return parker_->executor().unpost(*this); }

  // List hook, guarded by the lock of the list the waiter is linked into.
  Waiter* previous = nullptr;
  Waiter* next = nullptr;
  bool linked = false;

 private:
  static void woken(Job& job) noexcept { static_cast<Waiter&>(job).parker_->resume(true); }

  Parker* parker_;
};

// Event: a level that one coroutine of the same executor waits for. Not synchronised: readiness of
// a stream, a nudge to an idle connection. Owner thread only.
class Event {
 public:
  Event() = default;
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event() { assert(waiting_ == nullptr && watcher_ == nullptr && "an event outlives its waiter"); }

  [[nodiscard]] bool is_set() const noexcept { return set_; }
  void clear() noexcept { set_ = false; }
  void set() noexcept {
    set_ = true;
    nudge();
  }
  // Wakes the waiter without setting the level: it re-checks its own condition.
  void nudge() noexcept {
    if (waiting_ != nullptr) waiting_->executor_.post(*waiting_);
    if (watcher_ != nullptr) watcher_->wake();
  }

  // For a wait on several things at once (runtime/wait_either.h), beside wait(): true when set,
  // else the waiter is woken by the next set() or nudge(), until it is forgotten. At most one.
  bool watch(Waiter& waiter) noexcept {
    assert((watcher_ == nullptr || watcher_ == &waiter) && "one watcher per event");
    watcher_ = &waiter;
    return set_;
  }
  void forget(Waiter& waiter) noexcept {
    if (watcher_ == &waiter) watcher_ = nullptr;
    waiter.take_back();
  }

  // Suspends until set or nudged; at once when set. Cancel-safe. At most one waiter at a time.
  auto wait() noexcept { return Wait(*this); }

 private:
  class Wait : private Job {
   public:
    explicit Wait(Event& event) noexcept
        : Job(&Wait::woken), executor_(*Executor::current()), event_(event) {}
    Wait(const Wait&) = delete;
    Wait& operator=(const Wait&) = delete;
    ~Wait() {
      if (event_.waiting_ == this) {
        event_.waiting_ = nullptr;
        executor_.unpost(*this);
      }
    }

    bool await_ready() const noexcept { return event_.set_; }
    void await_suspend(std::coroutine_handle<> frame) noexcept {
      assert(event_.waiting_ == nullptr && "one waiter per event");
      frame_ = frame;
      event_.waiting_ = this;
    }
    void await_resume() const noexcept {}

   private:
    friend class Event;
    static void woken(Job& job) noexcept {
      auto& wait = static_cast<Wait&>(job);
      wait.event_.waiting_ = nullptr;
      wait.frame_.resume();
    }

    Executor& executor_;
    Event& event_;
    std::coroutine_handle<> frame_;
  };

  bool set_ = false;
  Wait* waiting_ = nullptr;
  Waiter* watcher_ = nullptr;
};

// Suspends until everything else that is ready on this executor has had its turn, sockets and
// timers included. Cancel-safe.
class [[nodiscard]] Yield : private Job {
 public:
  Yield() noexcept : Job(&Yield::resumed), executor_(*Executor::current()) {}
  Yield(const Yield&) = delete;
  Yield& operator=(const Yield&) = delete;
  ~Yield() { executor_.unpost(*this); }

  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> frame) noexcept {
    frame_ = frame;
    executor_.defer(*this);
  }
  void await_resume() const noexcept {}

 private:
  static void resumed(Job& job) noexcept { static_cast<Yield&>(job).frame_.resume(); }

  Executor& executor_;
  std::coroutine_handle<> frame_;
};

}  // namespace ron::platform
