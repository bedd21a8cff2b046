// A fixed number of threads behind a bounded queue.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "platform/blocking.h"

namespace ron::platform::posix {

class ThreadPool final : public BlockingPool {
 public:
  ThreadPool(std::size_t threads, std::size_t capacity);
  // Finishes what is queued, then joins.
  ~ThreadPool() override;

  [[nodiscard]] std::size_t depth() const noexcept override;
  [[nodiscard]] std::size_t capacity() const noexcept override { return ring_.size(); }

 private:
  bool try_submit(Closure& work) override;
  void serve();

  mutable std::mutex mutex_;
  std::condition_variable ready_;
  std::vector<Closure> ring_;  // guarded by mutex_, as the rest
  std::size_t head_ = 0;
  std::size_t count_ = 0;
  bool stopping_ = false;
  std::vector<std::jthread> threads_;  // last: joined before the queue goes
};

}  // namespace ron::platform::posix
