// BlockingPool: a bounded place for work that would stall a core: big hashes, embedded databases,
// file-system metadata. The queue rejects when full; nothing waits to be queued.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>

#include "base/result.h"
#include "platform/task.h"
#include "platform/wait.h"

namespace ron::platform {

// Threads of a host's pool, unless it is told otherwise.
inline constexpr std::size_t kBlockingThreads = 4;

class BlockingPool {
 public:
  BlockingPool() = default;
  BlockingPool(const BlockingPool&) = delete;
  BlockingPool& operator=(const BlockingPool&) = delete;
  virtual ~BlockingPool() = default;

  // Runs `work` on a pool thread and resumes here with its result; Busy when the queue is full.
  // Cancel-safe: if the caller is aborted the work still runs, and its result is dropped.
  template <class Work>
  Task<base::Result<std::invoke_result_t<Work>>> run(Work work);

  [[nodiscard]] virtual std::size_t depth() const noexcept = 0;
  [[nodiscard]] virtual std::size_t capacity() const noexcept = 0;

 protected:
  // Queues a closure; false when full. It may run on any thread.
  virtual bool try_submit(std::move_only_function<void()> work) = 0;
};

namespace detail {

// Shared by the waiting coroutine and the pool thread; whoever lets go last frees it.
template <class T>
struct BlockingCall {
  std::mutex mutex;
  std::optional<T> value;    // guarded by mutex
  Waiter* waiter = nullptr;  // guarded by mutex; null once the caller is gone or woken
};

template <class T>
class BlockingWait {
 public:
  BlockingWait(BlockingCall<T>& call, Waiter& waiter) noexcept : call_(call), waiter_(waiter) {
    call_.waiter = &waiter_;
  }
  BlockingWait(const BlockingWait&) = delete;
  BlockingWait& operator=(const BlockingWait&) = delete;
  ~BlockingWait() {
    const std::lock_guard lock(call_.mutex);
    if (call_.waiter == nullptr) waiter_.take_back();
    call_.waiter = nullptr;
  }

 private:
  BlockingCall<T>& call_;
  Waiter& waiter_;
};

}  // namespace detail

template <class Work>
Task<base::Result<std::invoke_result_t<Work>>> BlockingPool::run(Work work) {
  using T = std::invoke_result_t<Work>;
  static_assert(!std::is_void_v<T>, "return a value, so that the caller can tell it ran");
  auto call = std::make_shared<detail::BlockingCall<T>>();
  Parker parker;
  Waiter waiter(parker);
  const detail::BlockingWait<T> wait(*call, waiter);
  const bool queued = try_submit([call, run = std::move(work)]() mutable {
    T value = run();
    const std::lock_guard lock(call->mutex);
    call->value.emplace(std::move(value));
    if (call->waiter != nullptr) std::exchange(call->waiter, nullptr)->wake();
  });
  if (!queued) co_return base::fail(base::Code::Busy, "the blocking pool's queue is full");
  co_await parker.park(kNever);
  co_return std::move(*call->value);
}

}  // namespace ron::platform
