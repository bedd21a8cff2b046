// CoreCopies: a snapshot that every core reads without a lock and without touching what others
// touch.
//
//   copies.set(std::make_shared<const Table>(…));   // whoever changes it
//   const Table& table = copies.here();             // on a core, per request: one load of a
//   counter
#pragma once

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "platform/executor.h"
#include "runtime/lock.h"

namespace ron::kit {

// Set and get on any thread, here() on one of the cores. A snapshot lives until every core has seen
// a newer one.
template <class T>
class CoreCopies {
 public:
  using Ptr = std::shared_ptr<const T>;

  CoreCopies(std::span<platform::Executor* const> cores, const runtime::LockDecl& lock, Ptr first)
      : lock_(lock), latest_(std::move(first)) {
    for (const platform::Executor* core : cores) copies_.push_back({core, 0, nullptr});
  }
  CoreCopies(const CoreCopies&) = delete;
  CoreCopies& operator=(const CoreCopies&) = delete;

  void set(Ptr next) {
    {
      const std::lock_guard guard(lock_);
      std::swap(latest_, next);
    }
    version_.fetch_add(1, std::memory_order_release);
  }
  [[nodiscard]] Ptr get() const {
    const std::lock_guard guard(lock_);
    return latest_;
  }
  // Valid until the caller waits.
  [[nodiscard]] const T& here() {
    const platform::Executor* const current = platform::Executor::current();
    const auto copy = std::ranges::find(copies_, current, &Copy::home);
    assert(copy != copies_.end() && "on a core of the service");
    const std::uint64_t version = version_.load(std::memory_order_acquire);
    if (copy->version != version) {
      copy->latest = get();
      copy->version = version;
    }
    return *copy->latest;
  }

 private:
  // Its own core only.
  struct alignas(64) Copy {
    const platform::Executor* home;
    std::uint64_t version;
    Ptr latest;
  };

  mutable runtime::Lock lock_;
  Ptr latest_;  // guarded by lock_
  std::atomic<std::uint64_t> version_ = 1;
  std::vector<Copy> copies_;
};

}  // namespace ron::kit
