// BlockingPool: a bounded place for work that would stall a core: big hashes, embedded databases,
// file-system metadata.
//
// A full queue says nothing about the disk, so nobody is refused because of it: callers stand in
// line, first come first served. A caller's place is in its own frame, so the line is never longer
// than the work that was admitted elsewhere.
//
// Every job has a declared kind and a stop token. Loops in jobs look at the token; it asks them to
// stop when the caller is gone, when the job's budget is spent and when the process ends. So the
// end of a process waits for no job for longer than it wants to (posix/blocking.h).
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/result.h"
#include "base/stop_token.h"
#include "base/units.h"
#include "platform/task.h"
#include "platform/wait.h"

namespace ron::platform {

// Threads of a host's pool, unless it is told otherwise.
inline constexpr std::size_t kBlockingThreads = 4;
// How long a caller waits for a place before it takes the threads for stuck. A healthy disk empties
// the queue many times over in that time, and it is shorter than the requests' usual deadline.
inline constexpr std::chrono::seconds kBlockingPatience{10};

// What a kind of job is called, in logs and metrics, and how long one may take. Declared as a
// constant beside the code that runs such jobs; the name lives as long as the process.
struct BlockingKind {
  std::string_view name;
  base::Duration budget;
};
// The budget of jobs whose callers have a deadline of their own: a job is asked to stop when its
// caller leaves.
inline constexpr base::Duration kCallersBudget = base::Duration::max();

class BlockingPool;

namespace detail {

// The state behind a job's stop token: shared by the caller, the thread and whatever the job keeps.
class BlockingStop final : public base::StopSource {
 public:
  BlockingStop(const BlockingPool& pool, base::Duration budget) noexcept
      : pool_(pool), budget_(budget) {}

  void begin() noexcept;  // on the job's thread, before the job
  void abandon() noexcept { abandoned_.store(true, std::memory_order_relaxed); }
  [[nodiscard]] base::StopCause cause() const noexcept override;

 private:
  const BlockingPool& pool_;
  const base::Duration budget_;
  TimePoint end_ = kNever;
  std::atomic<bool> abandoned_ = false;
};

// Jobs take the token or have no use for it.
template <class Work>
decltype(auto) run_job(Work& work, const base::StopToken& stop) {
  if constexpr (std::is_invocable_v<Work&, const base::StopToken&>) {
    return work(stop);
  } else {
    return work();
  }
}
template <class Work>
using JobResult = decltype(run_job(std::declval<Work&>(), std::declval<const base::StopToken&>()));

}  // namespace detail

class BlockingPool {
 public:
  BlockingPool() = default;
  BlockingPool(const BlockingPool&) = delete;
  BlockingPool& operator=(const BlockingPool&) = delete;
  virtual ~BlockingPool() = default;

  // Runs `work` on a pool thread and resumes here with its result. `work` is called with a
  // base::StopToken if it takes one. Waits for a place in the queue; Busy when none came free for
  // kBlockingPatience. Cancel-safe: work that is queued still runs when its caller is aborted, is
  // asked to stop, and its result is dropped; work still in line goes with the caller.
  template <class Work>
  Task<base::Result<detail::JobResult<Work>>> run(BlockingKind kind, Work work);

  [[nodiscard]] virtual std::size_t depth() const noexcept = 0;
  [[nodiscard]] virtual std::size_t capacity() const noexcept = 0;

 protected:
  struct QueuedJob {
    BlockingKind kind;
    std::move_only_function<void()> run;
  };

  // Queues the job, which may run on any thread; false when full, and it stays with the caller.
  virtual bool try_submit(QueuedJob& job) = 0;
  // By which budgets are measured. Any thread.
  [[nodiscard]] virtual TimePoint now() const noexcept = 0;
  // From now on every job is asked to stop. Any thread.
  void stop_jobs() noexcept { is_ending_.store(true, std::memory_order_relaxed); }
  // Lets the first in line have what places there are. To be called, without a lock of the queue,
  // whenever one came free. Any thread.
  void fill_places() noexcept;
  // Those in line are forgotten: their work is never run.
  void drop_line() noexcept;

 private:
  friend class detail::BlockingStop;
  // A caller's job on its way into the queue. Any thread may take it from here.
  class Place {
   public:
    Place(BlockingPool& pool, QueuedJob job);
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
    QueuedJob job_;
    bool had_to_wait_ = false;
    bool in_line_ = false;  // guarded by the pool's line_mutex_, as the rest
    Place* previous_ = nullptr;
    Place* next_ = nullptr;
  };
  void remove_from_line(Place& place) noexcept;

  std::mutex line_mutex_;   // taken before the queue's
  Place* first_ = nullptr;  // guarded by line_mutex_
  Place* last_ = nullptr;   // guarded by line_mutex_
  std::atomic<bool> is_ending_ = false;
};

namespace detail {

// Shared by the waiting coroutine and the pool thread; whoever lets go last frees it.
template <class T>
struct BlockingCall {
  std::shared_ptr<BlockingStop> stop;
  std::mutex mutex = {};
  std::optional<T> value{};  // guarded by mutex
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
    if (call_.waiter == nullptr) {
      waiter_.take_back();
    } else {
      call_.stop->abandon();
    }
    call_.waiter = nullptr;
  }

 private:
  BlockingCall<T>& call_;
  Waiter& waiter_;
};

}  // namespace detail

template <class Work>
Task<base::Result<detail::JobResult<Work>>> BlockingPool::run(BlockingKind kind, Work work) {
  using T = detail::JobResult<Work>;
  static_assert(!std::is_void_v<T>, "return a value, so that the caller can tell it ran");
  auto call = std::make_shared<detail::BlockingCall<T>>(
      std::make_shared<detail::BlockingStop>(*this, kind.budget));
  Parker parker;
  Waiter waiter(parker);
  const detail::BlockingWait<T> wait(*call, waiter);
  Place place(*this, {kind, [call, run = std::move(work)]() mutable {
                        call->stop->begin();
                        T value = detail::run_job(run, base::StopToken(call->stop));
                        const std::lock_guard lock(call->mutex);
                        call->value.emplace(std::move(value));
                        if (call->waiter != nullptr) std::exchange(call->waiter, nullptr)->wake();
                      }});
  if (place.had_to_wait()) {
    const bool done = co_await parker.park(parker.executor().now() + kBlockingPatience);
    if (done) co_return std::move(*call->value);
    if (place.leave()) co_return base::fail(base::Code::Busy, "the blocking pool is stuck");
  }
  co_await parker.park(kNever);
  co_return std::move(*call->value);
}

}  // namespace ron::platform
