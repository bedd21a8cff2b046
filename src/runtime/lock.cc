#include "runtime/lock.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>

namespace ron::runtime::detail {
namespace {

// The locks this thread holds, in the order it took them, which is the order of their ranks.
struct Held {
  std::array<const LockDecl*, kHeldLocks> locks{};
  std::size_t count = 0;
};
thread_local constinit Held held;

std::string describe(const LockDecl& lock) {
  return "'" + std::string(lock.name) + "' (rank " + std::to_string(lock.rank) + ")";
}

[[noreturn]] void die(const std::string& message) noexcept {
  std::fputs((message + "\n").c_str(), stderr);
  std::abort();
}

}  // namespace

void note_taking(const LockDecl& lock) noexcept {
  if (held.count > 0 && held.locks[held.count - 1]->rank >= lock.rank) {
    die("lock order: " + describe(lock) + " taken while holding " +
        describe(*held.locks[held.count - 1]));
  }
  if (held.count == kHeldLocks) die("lock order: too many locks held at once");
  held.locks[held.count++] = &lock;
}

void note_released(const LockDecl& lock) noexcept {
  const auto locks = std::span(held.locks).first(held.count);
  const auto found = std::ranges::find(locks, &lock);
  if (found == locks.end()) die("lock order: " + describe(lock) + " released but not held");
  std::ranges::copy(found + 1, locks.end(), found);
  --held.count;
}

void refuse_held_locks() noexcept {
  if (held.count == 0) return;
  die("a coroutine suspends while its thread holds " + describe(*held.locks[held.count - 1]));
}

}  // namespace ron::runtime::detail
