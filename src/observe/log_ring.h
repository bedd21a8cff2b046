// The bounded queue between those who log and the one who writes.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>

namespace ron::observe {

// Where drained lines go. Called by one thread at a time, never while the queue is locked, with one
// or more whole lines; may block, must not throw.
class LogSink {
 public:
  virtual ~LogSink() = default;
  virtual void write(std::string_view lines) = 0;
};

// Preformatted lines waiting to be written: many producers, one consumer, overflow policy
// reject-new. A producer holds the lock for one copy of its line and never waits for the sink.
//
// Two buffers, both allocated at construction: producers fill one while the consumer writes the
// other, so a batch leaves in one write and nothing is allocated later. At most capacity_lines and
// capacity_bytes wait; as much again may be in the consumer's hands.
class LogRing {
 public:
  LogRing(std::size_t capacity_lines, std::size_t capacity_bytes);
  LogRing(const LogRing&) = delete;
  LogRing& operator=(const LogRing&) = delete;

  // False: the ring is full or stopped and the line was not taken. `line` ends in a newline.
  [[nodiscard]] bool push(std::string_view line) noexcept;

  // Writes what waits and returns how many lines that was. The consumer only.
  std::size_t drain(LogSink& sink);
  // Waits for lines or stop(), then drains. False once the ring is stopped and everything it took
  // has been written: `while (ring.wait_and_drain(sink)) {}` is a writer thread. The consumer only.
  bool wait_and_drain(LogSink& sink);
  // No line is taken from now on; the consumer writes the rest and ends.
  void stop() noexcept;

 private:
  const std::size_t capacity_lines_;
  const std::size_t capacity_bytes_;

  std::mutex mutex_;
  std::condition_variable ready_;
  std::string filling_;
  std::size_t lines_ = 0;  // in filling_
  bool waiting_ = false;   // spares producers the wake-up call while the consumer is busy
  bool stopped_ = false;

  std::string writing_;  // the consumer's alone
};

}  // namespace ron::observe
