#include "observe/log_ring.h"

#include <utility>

namespace ron::observe {

LogRing::LogRing(std::size_t capacity_lines, std::size_t capacity_bytes)
    : capacity_lines_(capacity_lines), capacity_bytes_(capacity_bytes) {
  filling_.reserve(capacity_bytes_);
  writing_.reserve(capacity_bytes_);
}

bool LogRing::push(std::string_view line) noexcept {
  bool wake = false;
  {
    const std::lock_guard lock(mutex_);
    if (stopped_ || lines_ >= capacity_lines_) return false;
    if (line.size() > capacity_bytes_ - filling_.size()) return false;
    filling_.append(line);
    ++lines_;
    wake = std::exchange(waiting_, false);
  }
  if (wake) ready_.notify_one();
  return true;
}

std::size_t LogRing::drain(LogSink& sink) {
  std::size_t lines = 0;
  {
    const std::lock_guard lock(mutex_);
    filling_.swap(writing_);
    lines = std::exchange(lines_, 0);
  }
  if (lines > 0) sink.write(writing_);
  writing_.clear();
  return lines;
}

bool LogRing::wait_and_drain(LogSink& sink) {
  {
    std::unique_lock lock(mutex_);
    while (lines_ == 0) {
      if (stopped_) return false;
      waiting_ = true;
      ready_.wait(lock);
    }
    waiting_ = false;
  }
  drain(sink);
  return true;
}

void LogRing::stop() noexcept {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  ready_.notify_one();
}

}  // namespace ron::observe
