// Lock: a mutex with a declared place in the order of locks.
//
// Two golden rules, checked at run time where RON_DEBUG_CHECKS is set (every preset but release):
// a thread takes locks only in ascending rank, and no coroutine suspends while its thread holds
// one. Breaking either aborts the process and names the locks. In release builds a Lock costs what
// its mutex costs.
#pragma once

#include <mutex>
#include <string_view>

#include "runtime/topology.h"

namespace ron::runtime {

#ifdef RON_DEBUG_CHECKS
inline constexpr bool kLockChecks = true;
#else
inline constexpr bool kLockChecks = false;
#endif

// More than this many locks held by one thread at once is a design error and aborts.
inline constexpr std::size_t kHeldLocks = 16;

namespace detail {
void note_taking(const LockDecl& lock) noexcept;
void note_released(const LockDecl& lock) noexcept;
void refuse_held_locks() noexcept;
}  // namespace detail

// Any thread. Use it through std::lock_guard. The declaration must outlive it; those in a service's
// wires.h do.
class Lock {
 public:
  explicit Lock(const LockDecl& decl) noexcept : decl_(decl) {}
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

  void lock() {
    if constexpr (kLockChecks) detail::note_taking(decl_);
    mutex_.lock();
  }
  void unlock() noexcept {
    mutex_.unlock();
    if constexpr (kLockChecks) detail::note_released(decl_);
  }
  // Trying cannot deadlock, but it keeps to the order all the same: the order is what readers
  // rely on.
  bool try_lock() {
    if constexpr (kLockChecks) detail::note_taking(decl_);
    const bool taken = mutex_.try_lock();
    if constexpr (kLockChecks) {
      if (!taken) detail::note_released(decl_);
    }
    return taken;
  }

  [[nodiscard]] std::string_view name() const noexcept { return decl_.name; }

 private:
  const LockDecl& decl_;
  std::mutex mutex_;
};

// Called by every wait of the runtime just before it suspends.
inline void assert_no_locks_held() noexcept {
  if constexpr (kLockChecks) detail::refuse_held_locks();
}

}  // namespace ron::runtime
