// CacheFeed: the way of answers from resolvers to the cache janitor, who alone writes to the cache.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "platform/task.h"
#include "runtime/deadline.h"
#include "runtime/mpsc.h"
#include "runtime/shutdown.h"
#include "runtime/watch.h"
#include "services/index/answer.h"
#include "services/index/wires.h"

namespace ron::index {

class CacheFeed {
 public:
  CacheFeed(runtime::Topology& topology, std::size_t capacity)
      : updates_(topology, kCacheUpdates, capacity), bell_(topology, kCacheBell, 0) {}

  // Never waits: beyond the capacity the oldest is not cached. Any core.
  void offer(AnswerPtr answer) {
    (void)updates_.try_send(std::move(answer));
    bell_.set(rings_.fetch_add(1, std::memory_order_relaxed) + 1);
  }

  // The janitor's side of it. One task.
  class Receiver {
   public:
    explicit Receiver(CacheFeed& feed) : feed_(feed), bell_(feed.bell_.subscribe()) {}

    std::optional<AnswerPtr> next() {
      bell_.see();
      return feed_.updates_.try_recv();
    }
    // Until there may be a next one, the moment comes or a stop is requested. Cancel-safe.
    platform::Task<void> wait(runtime::Deadline until, runtime::Shutdown shutdown) {
      co_await bell_.changed(until, std::move(shutdown));
    }

   private:
    CacheFeed& feed_;
    runtime::Watch<std::uint64_t>::Receiver bell_;
  };

 private:
  runtime::Mpsc<AnswerPtr> updates_;
  runtime::Watch<std::uint64_t> bell_;
  std::atomic<std::uint64_t> rings_ = 0;
};

}  // namespace ron::index
