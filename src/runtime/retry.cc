#include "runtime/retry.h"

#include <algorithm>
#include <cassert>
#include <chrono>

#include "runtime/metric_names.h"

namespace ron::runtime {
namespace {

constexpr std::uint64_t kToken = 1000;  // thousandths

}  // namespace

RetryBudget::RetryBudget(double ratio, std::uint32_t reserve) noexcept
    : ratio_milli_(static_cast<std::uint64_t>(ratio * kToken)),
      most_milli_(reserve * kToken),
      milli_(most_milli_) {
  assert(ratio >= 0 && ratio <= 1);
}

void RetryBudget::deposit() noexcept {
  std::uint64_t have = milli_.load(std::memory_order_relaxed);
  while (have < most_milli_) {
    const std::uint64_t more = std::min(most_milli_, have + ratio_milli_);
    if (milli_.compare_exchange_weak(have, more, std::memory_order_relaxed)) return;
  }
}

bool RetryBudget::withdraw() noexcept {
  std::uint64_t have = milli_.load(std::memory_order_relaxed);
  while (have >= kToken) {
    if (milli_.compare_exchange_weak(have, have - kToken, std::memory_order_relaxed)) return true;
  }
  return false;
}

Retrier::Retrier(Meters& meters, std::string_view op, RetryPolicy policy, RetryBudget& budget,
                 platform::Random& random)
    : policy_(policy),
      budget_(budget),
      jitter_(random.next()),
      retries_(meters.counter(metrics::kBackoffRetriesTotal, {op})) {}

Deadline Retrier::schedule(const base::Error& error, std::uint32_t tried, Deadline deadline) {
  if (tried >= policy_.max_tries || !base::info(error.code).retry_helps) return {};
  // A target that says when to come back knows better than our backoff.
  const base::Duration asked = std::chrono::seconds(error.retry_after_s);
  const base::Duration delay = std::max(policy_.backoff.delay(tried - 1, jitter_), asked);
  const Deadline again = Deadline::in(delay);
  if (again >= deadline || !budget_.withdraw()) return {};
  retries_.add();
  return again;
}

}  // namespace ron::runtime
