// Structured logs: log.info("listener up", {{"addr", text}, {"port", number}});
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "base/ulid.h"
#include "base/units.h"
#include "observe/field.h"
#include "observe/log_format.h"
#include "observe/log_ring.h"
#include "runtime/meter.h"
#include "runtime/metric_names.h"

namespace ron::observe {

inline constexpr std::size_t kLogQueueLines = 8192;
inline constexpr std::size_t kLogQueueBytes = 2 * base::kMiB;
static_assert(kLogQueueBytes >= kLineBytes, "the longest line must be able to get in");

struct LogOptions {
  Level level = Level::kInfo;
  LogFormat format = LogFormat::kJson;
  std::size_t queue_lines = kLogQueueLines;
  std::size_t queue_bytes = kLogQueueBytes;
  std::function<std::int64_t()> unix_ms;  // required; called by any thread
};

// What all services of a process share: the level, the format, the clock and the queue. The access
// log has one of its own, so that a flood of requests never pushes out an operator's lines.
// Thread-safe; outlives every Log made from it. One consumer drains it: a thread looping on
// wait_and_drain(), or the simulation calling drain() inline.
class LogHub {
 public:
  explicit LogHub(LogOptions options);

  [[nodiscard]] Level level() const noexcept { return level_.load(std::memory_order_relaxed); }
  void set_level(Level level) noexcept { level_.store(level, std::memory_order_relaxed); }
  [[nodiscard]] LogFormat format() const noexcept {
    return format_.load(std::memory_order_relaxed);
  }
  void set_format(LogFormat format) noexcept { format_.store(format, std::memory_order_relaxed); }

  std::size_t drain(LogSink& sink) { return ring_.drain(sink); }
  bool wait_and_drain(LogSink& sink) { return ring_.wait_and_drain(sink); }
  void stop() noexcept { ring_.stop(); }

 private:
  friend class Log;

  std::atomic<Level> level_;
  std::atomic<LogFormat> format_;
  const std::function<std::int64_t()> unix_ms_;
  LogRing ring_;
};

// A service's voice: a small value to copy and pass down. Any thread may log; nothing here waits
// for the writer. A line that finds the queue full is dropped and counted in log_dropped_total.
// Below the level a call costs one load and the fields are not looked at. A default-constructed Log
// says nothing. Must not outlive its LogHub and Meters.
class Log {
 public:
  using Fields = std::initializer_list<Field>;

  Log() = default;
  // Lines that were dropped are counted as `dropped`.
  Log(LogHub& hub, runtime::Meters& meters,
      const runtime::MetricDecl& dropped = runtime::metrics::kLogDroppedTotal);

  // The same voice for one request: its lines carry the correlation id.
  [[nodiscard]] Log with(const base::Ulid& corr_id) const noexcept;

  [[nodiscard]] bool enabled(Level level) const noexcept {
    return hub_ != nullptr && level >= hub_->level();
  }
  void log(Level level, std::string_view message, Fields fields = {}) const noexcept {
    if (enabled(level)) write(level, message, fields);
  }
  void trace(std::string_view message, Fields fields = {}) const noexcept {
    log(Level::kTrace, message, fields);
  }
  void debug(std::string_view message, Fields fields = {}) const noexcept {
    log(Level::kDebug, message, fields);
  }
  void info(std::string_view message, Fields fields = {}) const noexcept {
    log(Level::kInfo, message, fields);
  }
  void warn(std::string_view message, Fields fields = {}) const noexcept {
    log(Level::kWarn, message, fields);
  }
  void error(std::string_view message, Fields fields = {}) const noexcept {
    log(Level::kError, message, fields);
  }

 private:
  void write(Level level, std::string_view message, Fields fields) const noexcept;

  LogHub* hub_ = nullptr;
  runtime::Counter* dropped_ = nullptr;
  std::string_view service_;
  std::optional<base::Ulid> corr_id_;
};

// Lets one call site speak at most once per interval:
//
//   if (const auto silenced = lag_site.admit(now_ms)) log.warn("lagging", {{"silenced",
//   *silenced}});
//
// Thread-safe and lock-free; usually a member beside what it reports on.
class LogLimiter {
 public:
  explicit constexpr LogLimiter(std::int64_t interval_ms = 1000) noexcept
      : interval_ms_(interval_ms) {}

  // How many calls were refused since the last admitted one, or nothing when this one is refused.
  // A clock set back does not silence the site for longer than one interval.
  [[nodiscard]] std::optional<std::uint64_t> admit(std::int64_t now_ms) noexcept;

 private:
  static constexpr std::int64_t kNever = INT64_MIN;

  const std::int64_t interval_ms_;
  std::atomic<std::int64_t> last_ms_{kNever};
  std::atomic<std::uint64_t> refused_{0};
};

}  // namespace ron::observe
