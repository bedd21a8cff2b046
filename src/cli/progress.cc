#include "cli/progress.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>

namespace ron::cli {
namespace {

using std::chrono::duration;

constexpr double kMemorySeconds = 2;  // how long a change of speed takes to show
constexpr std::size_t kBarColumns = 20;

std::string format(const char* pattern, auto... values) {
  std::array<char, 64> text;
  const int size = std::snprintf(text.data(), text.size(), pattern, values...);
  return {text.data(), static_cast<std::size_t>(std::max(size, 0))};
}

std::string bar(double share) {
  const auto full = static_cast<std::size_t>(share * kBarColumns);
  return "[" + std::string(full, '#') + std::string(kBarColumns - full, '-') + "]";
}

}  // namespace

std::string human_bytes(std::uint64_t bytes) {
  static constexpr std::array kUnits = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < base::kKiB) return std::to_string(bytes) + " B";
  double value = static_cast<double>(bytes) / base::kKiB;
  std::size_t unit = 0;
  while (value >= 1023.995 && unit + 1 < kUnits.size()) {
    value /= base::kKiB;
    ++unit;
  }
  return format("%.2f %s", value, kUnits[unit]);
}

std::string human_duration(base::Duration duration) {
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(duration).count();
  const auto pair = [](std::int64_t large, const char* a, std::int64_t small, const char* b) {
    return format("%lld%s%02lld%s", static_cast<long long>(large), a, static_cast<long long>(small),
                  b);
  };
  if (seconds < 60) return std::to_string(seconds) + "s";
  if (seconds < 3600) return pair(seconds / 60, "m", seconds % 60, "s");
  if (seconds < 86400) return pair(seconds / 3600, "h", seconds / 60 % 60, "m");
  return pair(seconds / 86400, "d", seconds / 3600 % 24, "h");
}

void Progress::sample(platform::TimePoint now) noexcept {
  const double elapsed = duration<double>(now - sampled_).count();
  if (elapsed <= 0) return;
  const double current = static_cast<double>(bytes_ - sampled_bytes_) / elapsed;
  const double weight = rate_ == 0 ? 1 : 1 - std::exp(-elapsed / kMemorySeconds);
  rate_ += (current - rate_) * weight;
  sampled_ = now;
  sampled_bytes_ = bytes_;
}

std::optional<std::string> Progress::draw(platform::TimePoint now, std::size_t columns) {
  if (now - drawn_ < kInterval) return std::nullopt;
  drawn_ = now;
  sample(now);
  const std::uint64_t done = bytes_ + skipped_;
  std::string line = label_ + "  " + human_bytes(done);
  const bool percent = complete_ && expected_ > 0;
  if (percent) {
    const double share = std::min(1.0, static_cast<double>(done) / static_cast<double>(expected_));
    line += " / " + human_bytes(expected_) + "  " + bar(share) + format(" %3.0f%%", share * 100);
  }
  if (items_ > 0) line += "  " + std::to_string(items_) + " files";
  line += "  " + human_bytes(static_cast<std::uint64_t>(rate_)) + "/s";
  if (percent && rate_ >= 1 && done < expected_) {
    const double left = static_cast<double>(expected_ - done) / rate_;
    const double most = duration<double>(std::chrono::hours(24 * 99)).count();
    const duration<double> bounded(std::min(left, most));
    line += "  ETA " + human_duration(std::chrono::duration_cast<base::Duration>(bounded));
  }
  if (line.size() >= columns) line.resize(columns > 0 ? columns - 1 : 0);
  return line;
}

}  // namespace ron::cli
