// Permit: admission as a value. Whoever holds one counts; dropping it gives the place back.
#pragma once

#include <atomic>
#include <cstddef>
#include <utility>

#include "runtime/semaphore_state.h"
#include "runtime/waiting.h"

namespace ron::runtime {

// A limit that is only ever tried, never waited for: connections, requests in flight. Lock-free.
class Limit {
 public:
  explicit Limit(std::size_t most) noexcept : most_(most) {}
  Limit(const Limit&) = delete;
  Limit& operator=(const Limit&) = delete;

  class [[nodiscard]] Permit {
   public:
    Permit() = default;
    explicit Permit(Limit* limit) noexcept : limit_(limit) {}
    Permit(Permit&& other) noexcept : limit_(std::exchange(other.limit_, nullptr)) {}
    Permit& operator=(Permit&& other) noexcept {
      std::swap(limit_, other.limit_);
      return *this;
    }
    ~Permit() {
      if (limit_ != nullptr) limit_->used_.fetch_sub(1, std::memory_order_relaxed);
    }
    explicit operator bool() const noexcept { return limit_ != nullptr; }

   private:
    Limit* limit_ = nullptr;
  };

  // An empty permit when the limit is reached. Exact: one that is refused has left no trace that
  // could refuse another, and a full limit is only read.
  Permit try_acquire() noexcept {
    std::size_t used = used_.load(std::memory_order_relaxed);
    while (used < most_.load(std::memory_order_relaxed)) {
      if (used_.compare_exchange_weak(used, used + 1, std::memory_order_relaxed)) {
        return Permit(this);
      }
    }
    return {};
  }
  // Takes effect for the next admissions; permits already out stay valid.
  void set_most(std::size_t most) noexcept { most_.store(most, std::memory_order_relaxed); }
  [[nodiscard]] std::size_t most() const noexcept { return most_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::size_t used() const noexcept { return used_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::size_t> most_;
  alignas(64) std::atomic<std::size_t> used_ = 0;
};

// A limit that may be waited for under a deadline.
class Semaphore {
 public:
  explicit Semaphore(std::size_t permits) : state_(permits) {}

  class [[nodiscard]] Permit {
   public:
    Permit() = default;
    explicit Permit(Semaphore* semaphore) noexcept : semaphore_(semaphore) {}
    Permit(Permit&& other) noexcept : semaphore_(std::exchange(other.semaphore_, nullptr)) {}
    Permit& operator=(Permit&& other) noexcept {
      std::swap(semaphore_, other.semaphore_);
      return *this;
    }
    ~Permit() {
      if (semaphore_ != nullptr) semaphore_->state_.release();
    }
    explicit operator bool() const noexcept { return semaphore_ != nullptr; }

   private:
    Semaphore* semaphore_ = nullptr;
  };

  Permit try_acquire() noexcept { return state_.try_acquire() ? Permit(this) : Permit(); }
  // An empty permit when the deadline passes first. Cancel-safe: an aborted wait holds nothing.
  platform::Task<Permit> acquire(Deadline deadline) {
    const Waited waited = co_await wait_for(AcquireOp{&state_}, deadline);
    co_return waited == Waited::Ready ? Permit(this) : Permit();
  }
  [[nodiscard]] std::size_t free() const noexcept { return state_.free(); }

 private:
  struct AcquireOp {
    SemaphoreState<>* state;
    Poll poll(platform::Waiter& waiter) noexcept { return state->poll_acquire(waiter); }
    void forget(platform::Waiter& waiter) noexcept { state->forget(waiter); }
  };
  SemaphoreState<> state_;
};

}  // namespace ron::runtime
