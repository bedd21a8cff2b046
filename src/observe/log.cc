#include "observe/log.h"

#include <cassert>
#include <utility>

namespace ron::observe {

LogHub::LogHub(LogOptions options)
    : level_(options.level),
      format_(options.format),
      unix_ms_(std::move(options.unix_ms)),
      ring_(options.queue_lines, options.queue_bytes) {
  assert(unix_ms_ && "a log needs a clock");
}

Log::Log(LogHub& hub, runtime::Meters& meters, const runtime::MetricDecl& dropped)
    : hub_(&hub), dropped_(&meters.counter(dropped)), service_(meters.service()) {}

Log Log::with(const base::Ulid& corr_id) const noexcept {
  Log log = *this;
  log.corr_id_ = corr_id;
  return log;
}

void Log::write(Level level, std::string_view message, Fields fields) const noexcept {
  LineBuffer line;
  const LineHead head{hub_->unix_ms_(), level, service_, message,
                      corr_id_ ? corr_id_->text() : std::string_view()};
  format_line(line, hub_->format(), head, fields);
  if (!hub_->ring_.push(line.view())) dropped_->add();
}

std::optional<std::uint64_t> LogLimiter::admit(std::int64_t now_ms) noexcept {
  std::int64_t last = last_ms_.load(std::memory_order_relaxed);
  // Unsigned: the distance of any two times fits, whatever the clock says. Time running backwards
  // gives a distance of more than any interval and admits.
  const auto elapsed = static_cast<std::uint64_t>(now_ms) - static_cast<std::uint64_t>(last);
  const bool due = last == kNever || elapsed >= static_cast<std::uint64_t>(interval_ms_);
  // Of several threads that find the interval over, one speaks.
  if (!due || !last_ms_.compare_exchange_strong(last, now_ms, std::memory_order_relaxed)) {
    refused_.fetch_add(1, std::memory_order_relaxed);
    return std::nullopt;
  }
  return refused_.exchange(0, std::memory_order_relaxed);
}

}  // namespace ron::observe
