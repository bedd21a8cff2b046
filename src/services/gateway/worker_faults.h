// WorkerFaults: a seam for tests. As many workers fail on purpose as `debug.fail_workers` says, all
// since the start together; a build without tests does not know the key.
//
// Any thread.
#pragma once

#include <cstdint>
#include <mutex>
#include <utility>

#include "runtime/shutdown.h"

namespace ron::gateway {

class WorkerFaults {
 public:
  // This many in all, those of before included.
  void ask_for(std::uint64_t total) {
    runtime::Shutdown call;
    {
      const std::lock_guard lock(mutex_);
      if (total <= wanted_) return;
      wanted_ = total;
      std::swap(call, call_);
    }
    call.trigger(runtime::StopReason::Failure);
  }
  // True: the caller is one of them.
  [[nodiscard]] bool take() {
    const std::lock_guard lock(mutex_);
    if (failed_ == wanted_) return false;
    ++failed_;
    return true;
  }
  // Triggered when more are asked for. Had before take() says no, it misses nobody.
  [[nodiscard]] runtime::Shutdown call() const {
    const std::lock_guard lock(mutex_);
    return call_;
  }

 private:
  mutable std::mutex mutex_;
  std::uint64_t wanted_ = 0;  // guarded by mutex_, as the rest
  std::uint64_t failed_ = 0;
  runtime::Shutdown call_;
};

}  // namespace ron::gateway
