// Shares: how many places each of many holders has. Connections of an address, event streams of a
// tenant.
//
// Tried, never waited for. A holder is remembered only while it has a place, so memory is bounded
// by the places given out, which something else bounds (runtime/permit.h).
#pragma once

#include <cstddef>
#include <functional>
#include <mutex>
#include <unordered_map>
#include <utility>

namespace ron::runtime {

// Any thread. The lock is held for one look-up; a place is taken once for each connection or
// stream, not for each request.
template <class Holder, class Hash = std::hash<Holder>>
class Shares {
 public:
  Shares() = default;
  Shares(const Shares&) = delete;
  Shares& operator=(const Shares&) = delete;

  // One place; dropping it gives it back. The shares outlive it.
  class [[nodiscard]] Place {
   public:
    Place() = default;
    Place(Shares* shares, Holder holder) : shares_(shares), holder_(std::move(holder)) {}
    Place(Place&& other) noexcept
        : shares_(std::exchange(other.shares_, nullptr)), holder_(std::move(other.holder_)) {}
    Place& operator=(Place&& other) noexcept {
      std::swap(shares_, other.shares_);
      std::swap(holder_, other.holder_);
      return *this;
    }
    ~Place() {
      if (shares_ != nullptr) shares_->leave(holder_);
    }
    explicit operator bool() const noexcept { return shares_ != nullptr; }

   private:
    Shares* shares_ = nullptr;
    Holder holder_{};
  };

  // An empty place when the holder has `most` already.
  Place try_enter(const Holder& holder, std::size_t most) {
    const std::lock_guard lock(mutex_);
    const auto found = held_.find(holder);
    const std::size_t held = found == held_.end() ? 0 : found->second;
    if (held >= most) return {};
    if (found == held_.end()) {
      held_.emplace(holder, 1);
    } else {
      ++found->second;
    }
    return Place(this, holder);
  }
  // Who has a place now.
  [[nodiscard]] std::size_t holders() const {
    const std::lock_guard lock(mutex_);
    return held_.size();
  }

 private:
  void leave(const Holder& holder) noexcept {
    const std::lock_guard lock(mutex_);
    const auto found = held_.find(holder);
    if (--found->second == 0) held_.erase(found);
  }

  mutable std::mutex mutex_;
  std::unordered_map<Holder, std::size_t, Hash> held_;  // guarded by mutex_
};

}  // namespace ron::runtime
