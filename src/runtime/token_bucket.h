// TokenBucket: a rate limit shared by all cores, lock-free (generic cell rate algorithm).
//
// The whole state is one atomic moment: when the bucket will be full again. A take moves it
// forward by the price of its tokens and succeeds if that stays within one burst from now; so the
// bound is exact under any concurrency. Between two swaps of the rate, in any span t at most
// rate * t + burst tokens are taken.
#pragma once

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cstdint>
#include <expected>

#include "base/units.h"
#include "platform/executor.h"

namespace ron::runtime {

// Any thread. Time is passed in and may differ a little between cores: an older reading only makes
// the answer stricter. The price of a token is rounded up to 1/16 ns, so the effective rate is at
// most the one asked for and below it by no more than one part in 16e9 / rate.
class TokenBucket {
 public:
  struct Unlimited {};
  static constexpr Unlimited kUnlimited{};
  // The wait reported for a cost above the burst, which can never be had at once.
  static constexpr base::Duration kForever = base::Duration::max();

  // Starts full. Both above zero: a limit of nothing is a closed route, not a rate.
  TokenBucket(std::uint64_t rate_per_second, std::uint64_t burst) noexcept {
    store(rate_per_second, burst);
  }
  explicit TokenBucket(Unlimited) noexcept {}
  TokenBucket(const TokenBucket&) = delete;
  TokenBucket& operator=(const TokenBucket&) = delete;

  // Takes all of `cost` or nothing; on refusal, how long until it would succeed if nobody else
  // came.
  [[nodiscard]] std::expected<void, base::Duration> try_take(platform::TimePoint now,
                                                             std::uint64_t cost = 1) noexcept {
    const std::int64_t price = price_.load(std::memory_order_relaxed);
    if (price == kNoLimit) return {};
    const std::uint64_t burst = burst_.load(std::memory_order_relaxed);
    if (cost > burst) return std::unexpected(kForever);
    const std::int64_t most = worth(burst, price);
    const std::int64_t charge = worth(cost, price);
    const std::int64_t at = ticks(now);
    std::int64_t full_at = full_at_.load(std::memory_order_relaxed);
    for (;;) {
      const std::int64_t next = std::max(full_at, at) + charge;
      const std::int64_t excess = next - at - most;
      if (excess > 0) return std::unexpected(round_up(excess));
      if (full_at_.compare_exchange_weak(full_at, next, std::memory_order_relaxed)) return {};
    }
  }

  // Takes effect for the next takes. What was taken before counts as at most one new burst, so that
  // a raised limit is felt at once. A take racing with the swap may pair one old value with a
  // new one.
  void set_rate(platform::TimePoint now, std::uint64_t rate_per_second,
                std::uint64_t burst) noexcept {
    store(rate_per_second, burst);
    const std::int64_t latest = ticks(now) + worth(burst, price_.load(std::memory_order_relaxed));
    std::int64_t full_at = full_at_.load(std::memory_order_relaxed);
    while (full_at > latest &&
           !full_at_.compare_exchange_weak(full_at, latest, std::memory_order_relaxed)) {
    }
  }
  void set_unlimited() noexcept { price_.store(kNoLimit, std::memory_order_relaxed); }
  [[nodiscard]] bool unlimited() const noexcept {
    return price_.load(std::memory_order_relaxed) == kNoLimit;
  }

 private:
  static constexpr std::int64_t kNoLimit = 0;
  static constexpr std::int64_t kTicksPerNs = 16;  // 18 years of monotonic time fit
  static constexpr std::int64_t kTicksPerSecond = kTicksPerNs * 1'000'000'000;
  static constexpr std::int64_t kMostWorth = std::int64_t{1} << 60;  // two years; more saturates

  static std::int64_t ticks(platform::TimePoint now) noexcept {
    return now.time_since_epoch().count() * kTicksPerNs;
  }
  static base::Duration round_up(std::int64_t ticks) noexcept {
    return base::Duration((ticks + kTicksPerNs - 1) / kTicksPerNs);
  }
  static std::int64_t worth(std::uint64_t tokens, std::int64_t price) noexcept {
    const auto exact = static_cast<unsigned __int128>(tokens) * static_cast<std::uint64_t>(price);
    return static_cast<std::int64_t>(std::min<unsigned __int128>(exact, kMostWorth));
  }
  void store(std::uint64_t rate_per_second, std::uint64_t burst) noexcept {
    assert(rate_per_second > 0 && burst > 0);
    constexpr auto kSecond = static_cast<std::uint64_t>(kTicksPerSecond);
    const std::uint64_t price =
        kSecond / rate_per_second + (kSecond % rate_per_second != 0 ? 1U : 0U);
    burst_.store(burst, std::memory_order_relaxed);
    price_.store(static_cast<std::int64_t>(price), std::memory_order_relaxed);
  }

  std::atomic<std::int64_t> price_ = kNoLimit;  // ticks per token
  std::atomic<std::uint64_t> burst_ = 0;
  alignas(64) std::atomic<std::int64_t> full_at_ = 0;  // ticks
};

}  // namespace ron::runtime
