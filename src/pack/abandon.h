// Tells work on the blocking pool that whoever started it has gone: kept in the caller's frame, it
// speaks when that frame ends, whether by a result, a deadline or an abort.
#pragma once

#include <atomic>
#include <memory>

#include "pack/sqlite.h"

namespace ron::pack {

class AbandonOnExit {
 public:
  AbandonOnExit() = default;
  AbandonOnExit(const AbandonOnExit&) = delete;
  AbandonOnExit& operator=(const AbandonOnExit&) = delete;
  ~AbandonOnExit() { flag_->store(true, std::memory_order_relaxed); }

  [[nodiscard]] const Abandoned& flag() const noexcept { return flag_; }

 private:
  Abandoned flag_ = std::make_shared<std::atomic<bool>>(false);
};

}  // namespace ron::pack
