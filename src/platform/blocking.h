// BlockingPool: a bounded place for work that would stall a core: big hashes, embedded databases,
// file-system metadata.
//
// A full queue says nothing about the disk, so nobody is refused because of it: callers stand in
// line, first come first served. A caller's place is in its own frame, so the line is never longer
// than the work that was admitted elsewhere.
#pragma once

#include <chrono>
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
// How long a caller waits for a place before it takes the threads for stuck. A healthy disk empties
// the queue many times over in that time, and it is shorter than the requests' usual deadline.
inline constexpr std::chrono::seconds kBlockingPatience{10};

class BlockingPool {
 public:
  BlockingPool() = default;
  BlockingPool(const BlockingPool&) = delete;
  BlockingPool& operator=(const BlockingPool&) = delete;
  virtual ~BlockingPool() = default;

  // Runs `work` on a pool thread and resumes here with its result. Waits for a place in the queue;
  // Busy when none came free for kBlockingPatience. Cancel-safe: work that is queued still runs
  // when its caller is aborted, and its result is dropped; work still in line goes with the caller.
  template <class Work>
  Task<base::Result<std::invoke_result_t<Work>>> run(Work work);

  [[nodiscard]] virtual std::size_t depth() const noexcept = 0;
  [[nodiscard]] virtual std::size_t capacity() const noexcept = 0;

 protected:
  using Closure = std::move_only_function<void()>;

  // Queues the closure, which may run on any thread; false when full, and it stays with the caller.
  virtual bool try_submit(Closure& work) = 0;
  // Lets the first in line have what places there are. To be called, without a lock of the queue,
  // whenever one came free. Any thread.
  void fill_places() noexcept;
  // Those in line are forgotten: their work is never run.
  void drop_line() noexcept;

 private:
  // A caller's closure on its way into the queue. Any thread may take it from here.
  class Place {
   public:
    Place(BlockingPool& pool, Closure work);
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    ~Place() { leave(); }

    // Steps out of the line; false when it is in the queue, or was, and not in line any more.
    bool leave() noexcept;
    // As it was when the caller came.
    [[nodiscard]] bool had_to_wait() const noexcept { return had_to_wait_; }

   private:
    friend class BlockingPool;
    BlockingPool& pool_;
    Closure work_;
    bool had_to_wait_ = false;
    bool in_line_ = false;  // guarded by the pool's line_mutex_, as the rest
    Place* previous_ = nullptr;
    Place* next_ = nullptr;
  };
  void remove_from_line(Place& place) noexcept;

  std::mutex line_mutex_;   // taken before the queue's
  Place* first_ = nullptr;  // guarded by line_mutex_
  Place* last_ = nullptr;   // guarded by line_mutex_
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
  Place place(*this, [call, run = std::move(work)]() mutable {
    T value = run();
    const std::lock_guard lock(call->mutex);
    call->value.emplace(std::move(value));
    if (call->waiter != nullptr) std::exchange(call->waiter, nullptr)->wake();
  });
  if (place.had_to_wait()) {
    const bool done = co_await parker.park(parker.executor().now() + kBlockingPatience);
    if (done) co_return std::move(*call->value);
    if (place.leave()) co_return base::fail(base::Code::Busy, "the blocking pool is stuck");
  }
  co_await parker.park(kNever);
  co_return std::move(*call->value);
}

}  // namespace ron::platform
