// Tells work on the blocking pool that whoever started it has gone: kept in the caller's frame, it
// speaks when that frame ends, whether by a result, a deadline or an abort.
#pragma once

#include <atomic>
#include <memory>

#include "base/result.h"

namespace ron::pack {

// Set when nobody waits for the answer any more. Null: somebody always does.
using Abandoned = std::shared_ptr<std::atomic<bool>>;

[[nodiscard]] inline bool is_abandoned(const Abandoned& abandoned) noexcept {
  return abandoned && abandoned->load(std::memory_order_relaxed);
}
// What work ends with then.
[[nodiscard]] inline base::Error abandonment() {
  return {base::Code::Canceled, "nobody waits for it any more"};
}

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
