#include "platform/posix/blocking.h"

#include "platform/posix/clock.h"

namespace ron::platform::posix {

ThreadPool::ThreadPool(std::size_t threads, std::size_t capacity)
    : ring_(capacity), begun_(threads), live_threads_(threads) {
  for (std::size_t i = 0; i < threads; ++i) threads_.emplace_back(&ThreadPool::serve, this, i);
}

ThreadPool::~ThreadPool() { close(std::nullopt); }

std::size_t ThreadPool::depth() const noexcept {
  const std::lock_guard lock(mutex_);
  return count_;
}

TimePoint ThreadPool::now() const noexcept { return read_monotonic(); }

std::vector<RunningJob> ThreadPool::running() const {
  const std::lock_guard lock(mutex_);
  return running_now();
}

std::vector<RunningJob> ThreadPool::running_now() const {
  std::vector<RunningJob> jobs;
  for (const std::optional<Begun>& one : begun_) {
    if (one) jobs.push_back({one->kind.name, one->kind.budget, now() - one->since});
  }
  return jobs;
}

std::vector<RunningJob> ThreadPool::close(std::optional<base::Duration> patience) {
  stop_jobs();
  std::unique_lock lock(mutex_);
  stopping_ = true;
  ready_.notify_all();
  const auto is_over = [this] { return live_threads_ == 0; };
  if (!patience) {
    ended_.wait(lock, is_over);
  } else {
    ended_.wait_for(lock, *patience, is_over);
  }
  if (!is_over()) count_ = 0;
  return running_now();
}

bool ThreadPool::try_submit(QueuedJob& job) {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_ || count_ == ring_.size()) return false;
    ring_[(head_ + count_++) % ring_.size()] = std::move(job);
  }
  ready_.notify_one();
  return true;
}

void ThreadPool::serve(std::size_t number) {
  for (;;) {
    QueuedJob job;
    {
      std::unique_lock lock(mutex_);
      begun_[number].reset();
      ready_.wait(lock, [this] { return count_ > 0 || stopping_; });
      if (count_ == 0) {
        if (--live_threads_ == 0) ended_.notify_all();
        return;
      }
      job = std::move(ring_[head_]);
      head_ = (head_ + 1) % ring_.size();
      --count_;
      begun_[number] = Begun{job.kind, now()};
    }
    fill_places();
    job.run();
    // What the job holds may be the last of a database: closing it is part of the job.
    job.run = nullptr;
  }
}

}  // namespace ron::platform::posix
