// Tenants: who a request is charged to, and what each of them was given lately.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/units.h"
#include "config/value.h"
#include "platform/executor.h"
#include "runtime/lock.h"
#include "runtime/token_bucket.h"
#include "services/gateway/drr.h"
#include "services/gateway/tenant_id.h"

namespace ron::gateway {

// One tenant. Any thread; lives as long as a request or the table refers to it.
class Tenant {
 public:
  // Whoever asked for something within this time counts as active: a polite client's pauses between
  // two requests do not make it a stranger.
  static constexpr base::Duration kActive = std::chrono::seconds(10);
  // Over this time shares are told.
  static constexpr std::size_t kWindowSeconds = 60;
  // Its lines at upstreams, which share one if there are more of them.
  static constexpr std::size_t kLines = 16;

  // What it has waiting for one upstream, and what it owes there.
  struct Line {
    std::atomic<std::uint32_t> queued = 0;
    std::atomic<Cost> owed = 0;  // what its turns came to beyond their estimates
  };

  // An `rps` of zero is no limit.
  Tenant(TenantId id, std::uint32_t quantum, std::uint64_t rps);
  Tenant(const Tenant&) = delete;
  Tenant& operator=(const Tenant&) = delete;

  const std::string name;  // as shown
  std::atomic<std::uint32_t> quantum;
  runtime::TokenBucket rate;
  std::atomic<std::uint64_t> rejections = 0;
  std::atomic<std::uint32_t> in_flight = 0;
  std::atomic<Cost> deficit = 0;  // as the scheduler last left it

  // Good as long as the tenant.
  [[nodiscard]] const TenantId& id() const noexcept { return id_; }

  [[nodiscard]] Line& line(std::size_t lane) noexcept { return lines_[lane % kLines]; }
  // Requests that wait for their turn, at all upstreams.
  [[nodiscard]] std::uint32_t queued() const noexcept;

  [[nodiscard]] bool is_active(platform::TimePoint now) const noexcept;
  void set_rate(platform::TimePoint now, std::uint64_t rps) noexcept;

  // What one of its requests came to.
  void served(Cost cost) noexcept;
  // What its requests cost on the average, as an estimate of the next one.
  [[nodiscard]] Cost mean_cost() const noexcept;
  // Closes the present second. One caller.
  void tick() noexcept;
  // Cost served within the window, the present second included.
  [[nodiscard]] Cost served_lately() const noexcept;
  // Cost served in the last second that was closed.
  [[nodiscard]] Cost served_last_second() const noexcept {
    return last_second_.load(std::memory_order_relaxed);
  }

 private:
  friend class TenantTable;
  static constexpr Cost kMeanScale = 8;

  // Notes a request. True when the tenant was not counted as active before.
  bool touch(platform::TimePoint now) noexcept;
  // True when it was counted as active and is not any more.
  bool leave() noexcept { return counted_.exchange(false); }
  [[nodiscard]] std::int64_t last_used_ns() const noexcept {
    return last_used_ns_.load(std::memory_order_relaxed);
  }
  // Something of it waits or is being done.
  [[nodiscard]] bool is_busy() const noexcept;

  const std::string text_;
  const TenantId id_;  // a view into text_
  std::atomic<std::int64_t> last_used_ns_ = 0;
  std::atomic<bool> counted_ = false;    // as active, by the table
  std::atomic<bool> forgotten_ = false;  // by the table
  std::array<Line, kLines> lines_{};
  std::atomic<Cost> scaled_mean_ = kMeanScale;
  std::atomic<Cost> this_second_ = 0;
  std::atomic<Cost> last_second_ = 0;
  std::atomic<Cost> closed_seconds_ = 0;  // the sum of what follows
  std::array<Cost, kWindowSeconds> seconds_{};
  std::size_t second_ = 0;
};
using TenantPtr = std::shared_ptr<Tenant>;

struct TenantLimits {
  std::uint32_t default_quantum = 1;
  config::CountMap quanta;  // by TenantId::shown()
  std::uint64_t rps = 0;
};

// The tenants seen lately, at most kMost: of a few that are looked at, one that has nothing waiting
// or in flight and was used longest ago makes room, so that a flood of new tenants pushes out its
// own kind and not whoever is busy. Any thread.
//
// Each thread remembers those it used last, so that the usual request takes no lock and allocates
// nothing.
class TenantTable {
 public:
  static constexpr std::size_t kMost = 4096;

  explicit TenantTable(TenantLimits limits);
  TenantTable(const TenantTable&) = delete;
  TenantTable& operator=(const TenantTable&) = delete;

  // That tenant, made if there is none, counted as active from now on.
  TenantPtr use(TenantId id, platform::TimePoint now);
  // Takes effect at once, for tenants that are known already, too.
  void apply(TenantLimits limits, platform::TimePoint now);

  // Active tenants. Exact to a second after one goes idle, at once when one comes.
  [[nodiscard]] std::size_t active() const noexcept {
    return active_.load(std::memory_order_relaxed);
  }
  // Cost served to all of them within the window, as of the last tick.
  [[nodiscard]] Cost served_lately() const noexcept {
    return served_lately_.load(std::memory_order_relaxed);
  }
  // Once a second: closes the second and finds out who is idle. One caller.
  void tick(platform::TimePoint now);

  [[nodiscard]] std::vector<TenantPtr> all() const;

 private:
  // How many are looked at to find one that makes room.
  static constexpr std::size_t kCandidates = 16;

  struct Remembered {
    std::uint64_t table = 0;
    TenantPtr tenant;
  };
  // Where this thread remembers that tenant, if it does.
  static Remembered& remembered(const TenantId& id) noexcept;
  // True when the tenant is counted as active; false when the table has forgotten it meanwhile.
  bool count(Tenant& tenant, platform::TimePoint now) noexcept;
  void uncount(Tenant& tenant) noexcept;
  TenantPtr find_or_make(const TenantId& id);
  [[nodiscard]] std::size_t victim();
  [[nodiscard]] std::uint32_t quantum_of(std::string_view shown) const;

  const std::uint64_t id_;  // never that of another table
  std::atomic<std::size_t> active_ = 0;
  std::atomic<Cost> served_lately_ = 0;
  mutable runtime::Lock lock_;
  TenantLimits limits_;  // guarded by lock_, as the rest
  std::vector<TenantPtr> tenants_;
  // Keys live in the tenants.
  std::unordered_map<TenantId, std::size_t, TenantIdHash> by_id_;
  std::size_t hand_ = 0;  // where the next search begins
};

// Jain's index of fairness: 1 when all shares are alike, 1/n when one has everything.
double jain_index(const std::vector<double>& shares) noexcept;

}  // namespace ron::gateway
