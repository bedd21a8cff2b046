#include "platform/posix/blocking.h"

namespace ron::platform::posix {

ThreadPool::ThreadPool(std::size_t threads, std::size_t capacity) : ring_(capacity) {
  for (std::size_t i = 0; i < threads; ++i) threads_.emplace_back(&ThreadPool::serve, this);
}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  ready_.notify_all();
}

std::size_t ThreadPool::depth() const noexcept {
  const std::lock_guard lock(mutex_);
  return count_;
}

bool ThreadPool::try_submit(Closure& work) {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_ || count_ == ring_.size()) return false;
    ring_[(head_ + count_++) % ring_.size()] = std::move(work);
  }
  ready_.notify_one();
  return true;
}

void ThreadPool::serve() {
  for (;;) {
    Closure work;
    {
      std::unique_lock lock(mutex_);
      ready_.wait(lock, [this] { return count_ > 0 || stopping_; });
      if (count_ == 0) return;
      work = std::move(ring_[head_]);
      head_ = (head_ + 1) % ring_.size();
      --count_;
    }
    fill_places();
    work();
  }
}

}  // namespace ron::platform::posix
