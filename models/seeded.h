// Deliberately broken policies. Each stands for a mistake a primitive could contain; the tests
// assert that the explorer finds it, so that its silence about the real code means something.
#pragma once

#include <utility>

#include "explorer.h"

namespace ron::models {

// The lock is forgotten: nobody is kept out, and a thread may be interrupted where it looks at a
// waiter's list hook, which is between deciding to wait and being linked.
struct OpenSync {
  class Mutex {
   public:
    void lock() {
      point();
      enter_unguarded();
    }
    void unlock() { leave_unguarded(); }
  };
  class InterruptibleFlag {
   public:
    InterruptibleFlag(bool value) : value_(value) {}
    operator bool() const {
      point();
      return value_;
    }

   private:
    bool value_;
  };
  class Waiter : public WaiterOf<Waiter, InterruptibleFlag> {
   public:
    using WaiterOf::WaiterOf;
  };
};

// One wake-up of the schedule gets lost: a change that forgets to tell its waiters.
struct LostWakeSync {
  using Mutex = models::Mutex;
  class Waiter : public WaiterOf<Waiter> {
   public:
    using WaiterOf::WaiterOf;
    void wake() {
      if (!std::exchange(lost, true)) return;
      WaiterOf::wake();
    }
  };
  static inline bool lost = false;  // a setup resets it
};

// A wake-up that reached somebody who gives up is kept instead of passed on.
struct KeptWakeSync {
  using Mutex = models::Mutex;
  class Waiter : public WaiterOf<Waiter> {
   public:
    using WaiterOf::WaiterOf;
    bool take_back() {
      WaiterOf::take_back();
      return false;
    }
  };
};

// A waiter that is linked again keeps its older wake-up queued when it leaves.
struct StaleWakeSync {
  using Mutex = models::Mutex;
  class Waiter : public WaiterOf<Waiter> {
   public:
    using WaiterOf::WaiterOf;
    bool take_back() { return !linked && WaiterOf::take_back(); }
  };
};

}  // namespace ron::models
