// Progress: how far a transfer is, as one line for a terminal. Pure: time comes in, text goes out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/units.h"
#include "platform/executor.h"

namespace ron::cli {

// `1.25 GiB`, `17 B`.
std::string human_bytes(std::uint64_t bytes);
// The two largest units: `3m12s`, `1h05m`, `2s`.
std::string human_duration(base::Duration duration);

// A plain value; one thread. `begin` starts its clock.
class Progress {
 public:
  // More often than this nobody can read it.
  static constexpr base::Duration kInterval = std::chrono::milliseconds(100);

  explicit Progress(std::string label) : label_(std::move(label)) {}

  void begin(platform::TimePoint now) noexcept { drawn_ = sampled_ = now; }
  void add_bytes(std::uint64_t bytes) noexcept { bytes_ += bytes; }
  void add_item() noexcept { ++items_; }
  // Grows while more work is found; final once expect_all() was called. Percent and remaining time
  // are shown only then.
  void expect_bytes(std::uint64_t bytes) noexcept { expected_ += bytes; }
  void expect_all() noexcept { complete_ = true; }
  // Bytes that were there before: part of the whole, but not of the rate.
  void skip_bytes(std::uint64_t bytes) noexcept { skipped_ += bytes; }

  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] std::uint64_t items() const noexcept { return items_; }

  // The line, cut to `columns`; nothing when it was drawn less than kInterval ago.
  std::optional<std::string> draw(platform::TimePoint now, std::size_t columns);

 private:
  void sample(platform::TimePoint now) noexcept;

  std::string label_;
  std::uint64_t bytes_ = 0;
  std::uint64_t skipped_ = 0;
  std::uint64_t items_ = 0;
  std::uint64_t expected_ = 0;
  bool complete_ = false;
  platform::TimePoint drawn_{};
  platform::TimePoint sampled_{};
  std::uint64_t sampled_bytes_ = 0;
  double rate_ = 0;  // bytes per second, smoothed
};

}  // namespace ron::cli
