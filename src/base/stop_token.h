// StopToken: tells work that takes long whether it should end early, and why.
//
// A loop asks it once for each step that takes microseconds or more. The default token never asks
// anything to stop.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/error.h"

namespace ron::base {

enum class StopCause : std::uint8_t {
  None,
  Abandoned,  // nobody waits for the result any more
  Ending,     // the process ends
  Overdue     // the work has taken longer than its budget
};

// Where a token looks. Any thread.
class StopSource {
 public:
  StopSource() = default;
  StopSource(const StopSource&) = delete;
  StopSource& operator=(const StopSource&) = delete;
  virtual ~StopSource() = default;

  [[nodiscard]] virtual StopCause cause() const noexcept = 0;
};

// A source that is set by hand. Any thread.
class StopFlag final : public StopSource {
 public:
  void set(StopCause cause) noexcept { cause_.store(cause, std::memory_order_relaxed); }
  [[nodiscard]] StopCause cause() const noexcept override {
    return cause_.load(std::memory_order_relaxed);
  }

 private:
  std::atomic<StopCause> cause_ = StopCause::None;
};

class StopToken {
 public:
  StopToken() = default;
  explicit StopToken(std::shared_ptr<const StopSource> source) noexcept
      : source_(std::move(source)) {}

  [[nodiscard]] StopCause cause() const noexcept {
    return source_ ? source_->cause() : StopCause::None;
  }
  [[nodiscard]] bool requested() const noexcept { return cause() != StopCause::None; }

  // What work that was asked to stop fails with.
  [[nodiscard]] Error error() const {
    switch (cause()) {
      case StopCause::Overdue:
        return {Code::Timeout, "the work has taken longer than it may"};
      case StopCause::Ending:
        return {Code::Canceled, "the process ends"};
      case StopCause::None:
      case StopCause::Abandoned:
        break;
    }
    return {Code::Canceled, "nobody waits for it any more"};
  }

 private:
  std::shared_ptr<const StopSource> source_;
};

}  // namespace ron::base
