// Tenants: who a request is charged to, and what each of them was given lately.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/units.h"
#include "config/value.h"
#include "platform/executor.h"
#include "runtime/token_bucket.h"
#include "services/gateway/drr.h"

namespace ron::gateway {

// One tenant. Any thread; lives as long as a request or the table refers to it.
class Tenant {
 public:
  // Whoever asked for something within this time counts as active: a polite client's pauses between
  // two requests do not make it a stranger.
  static constexpr base::Duration kActive = std::chrono::seconds(10);
  // Over this time shares are told.
  static constexpr std::size_t kWindowSeconds = 60;

  Tenant(std::string name, std::uint32_t quantum, std::uint64_t rps);
  Tenant(const Tenant&) = delete;
  Tenant& operator=(const Tenant&) = delete;

  const std::string name;
  std::atomic<std::uint32_t> quantum;
  runtime::TokenBucket rate;
  std::atomic<std::uint64_t> rejections = 0;
  std::atomic<std::uint32_t> in_flight = 0;
  std::atomic<std::uint32_t> queued = 0;  // waiting for their turn
  std::atomic<Cost> deficit = 0;          // as the scheduler last left it
  std::atomic<Cost> owed = 0;             // what its turns came to beyond their estimates
  // What its requests cost on the average, as an estimate of the next one.
  std::atomic<Cost> mean_cost = 1;

  // Notes a request. True when the tenant was not active before.
  bool touch(platform::TimePoint now) noexcept;
  [[nodiscard]] bool is_active(platform::TimePoint now) const noexcept;
  // True when it was counted as active and is not any more.
  bool leave() noexcept { return counted_.exchange(false, std::memory_order_relaxed); }

  // What one of its requests came to.
  void served(Cost cost) noexcept;
  // Closes the present second. One caller.
  void tick() noexcept;
  // Cost served within the window, the present second included.
  [[nodiscard]] Cost served_lately() const noexcept;

 private:
  std::atomic<std::int64_t> last_used_ns_ = 0;
  std::atomic<bool> counted_ = false;
  std::atomic<Cost> this_second_ = 0;
  std::array<std::atomic<Cost>, kWindowSeconds> seconds_{};
  std::atomic<std::size_t> second_ = 0;
};
using TenantPtr = std::shared_ptr<Tenant>;

struct TenantLimits {
  std::uint32_t default_quantum = 1;
  config::CountMap quanta;
  std::uint64_t rps = 0;
};

// The tenants seen lately: at most kMost; the one that was used longest ago makes room. Any thread.
class TenantTable {
 public:
  static constexpr std::size_t kMost = 4096;

  explicit TenantTable(TenantLimits limits);
  TenantTable(const TenantTable&) = delete;
  TenantTable& operator=(const TenantTable&) = delete;

  // The tenant of that name, made if there is none, counted as active from now on.
  TenantPtr use(std::string_view name, platform::TimePoint now);
  // Takes effect at once, for tenants that are known already, too.
  void apply(TenantLimits limits, platform::TimePoint now);

  // Active tenants. Exact to a second after one goes idle, at once when one comes.
  [[nodiscard]] std::size_t active() const noexcept {
    return active_.load(std::memory_order_relaxed);
  }
  // Once a second: closes the second and finds out who is idle. One caller.
  void tick(platform::TimePoint now);

  [[nodiscard]] std::vector<TenantPtr> all() const;

 private:
  struct Entry {
    TenantPtr tenant;
    std::list<std::string_view>::iterator place;
  };
  [[nodiscard]] std::uint32_t quantum_of(std::string_view name) const;

  std::atomic<std::size_t> active_ = 0;
  mutable std::mutex mutex_;
  TenantLimits limits_;                                  // guarded by mutex_, as the rest
  std::unordered_map<std::string_view, Entry> by_name_;  // keys live in the tenants
  std::list<std::string_view> by_use_;                   // the longest unused first
};

// Jain's index of fairness: 1 when all shares are alike, 1/n when one has everything.
double jain_index(const std::vector<double>& shares) noexcept;

}  // namespace ron::gateway
