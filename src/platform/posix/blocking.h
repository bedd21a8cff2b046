// A fixed number of threads behind a bounded queue.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>
#include <vector>

#include "platform/blocking.h"

namespace ron::platform::posix {

// A job that a thread of the pool is at.
struct RunningJob {
  std::string_view name;
  base::Duration budget;
  base::Duration took;  // so far

  [[nodiscard]] bool is_overdue() const noexcept { return took > budget; }
};

class ThreadPool final : public BlockingPool {
 public:
  ThreadPool(std::size_t threads, std::size_t capacity);
  // Asks every job to stop, finishes what is queued, then joins.
  ~ThreadPool() override;

  [[nodiscard]] std::size_t depth() const noexcept override;
  [[nodiscard]] std::size_t capacity() const noexcept override { return ring_.size(); }

  // What the threads are at. Any thread.
  [[nodiscard]] std::vector<RunningJob> running() const;
  // Asks every job to stop, takes no new ones, and waits for the jobs there are; for `patience` at
  // most, if there is any. Returns the jobs that still run then. Nothing queued begins any more if
  // there are some; unless another call sees them end, the pool must not be destroyed, since that
  // would wait for them: the process ends without it (std::_Exit).
  std::vector<RunningJob> close(std::optional<base::Duration> patience);

 private:
  struct Begun {
    BlockingKind kind;
    TimePoint since;
  };

  bool try_submit(QueuedJob& job) override;
  [[nodiscard]] TimePoint now() const noexcept override;
  void serve(std::size_t number);
  [[nodiscard]] std::vector<RunningJob> running_now() const;

  mutable std::mutex mutex_;
  std::condition_variable ready_;
  std::condition_variable ended_;
  std::vector<QueuedJob> ring_;  // guarded by mutex_, as the rest
  std::size_t head_ = 0;
  std::size_t count_ = 0;
  bool stopping_ = false;
  std::vector<std::optional<Begun>> begun_;  // by thread
  std::size_t live_threads_;
  std::vector<std::jthread> threads_;  // last: joined before the queue goes
};

}  // namespace ron::platform::posix
