// Quotas: what tenants may store, and what is on its way there.
//
// A write reserves before it begins and lets go when it has ended either way; what it has stored
// by then is in the volumes' usage. In between it counts twice at worst, never not at all: what is
// stored is asked for under the lock that a write lets go under.
//
// Any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "runtime/lock.h"
#include "services/storage/config.h"
#include "volume/volume.h"

namespace ron::storage {

class Quotas {
 public:
  explicit Quotas(const QuotaConfig& config);
  Quotas(const Quotas&) = delete;
  Quotas& operator=(const Quotas&) = delete;

  // Counts while it lives. Must not outlive its Quotas.
  class [[nodiscard]] Reservation {
   public:
    Reservation() = default;
    Reservation(Quotas* quotas, std::string tenant, volume::Usage held) noexcept
        : quotas_(quotas), tenant_(std::move(tenant)), held_(held) {}
    Reservation(Reservation&& other) noexcept
        : quotas_(std::exchange(other.quotas_, nullptr)),
          tenant_(std::move(other.tenant_)),
          held_(other.held_) {}
    Reservation& operator=(Reservation&& other) noexcept {
      std::swap(quotas_, other.quotas_);
      std::swap(tenant_, other.tenant_);
      std::swap(held_, other.held_);
      return *this;
    }
    ~Reservation() {
      if (quotas_ != nullptr) quotas_->let_go(tenant_, held_);
    }

   private:
    Quotas* quotas_ = nullptr;
    std::string tenant_;
    volume::Usage held_;
  };

  // False: no tenant has a limit, and nothing need be asked.
  [[nodiscard]] bool any() const noexcept { return any_.load(std::memory_order_relaxed); }
  // What a tenant has stored now. Called under the lock: may take those of the volumes.
  using Stored = std::function<volume::Usage(std::string_view tenant)>;
  // Quota with what is used, allowed and asked for, if what is stored and what is reserved leave
  // too little.
  base::Result<Reservation> reserve(std::string_view tenant, volume::Usage asked,
                                    const Stored& stored);
  // What the tenant may store (0: no limit) and what it has on its way.
  struct Standing {
    volume::Usage limit;
    volume::Usage reserved;
  };
  [[nodiscard]] Standing standing(std::string_view tenant) const;
  // Takes effect for what is reserved from now on.
  void apply(const QuotaConfig& config);

 private:
  void let_go(const std::string& tenant, volume::Usage held) noexcept;
  [[nodiscard]] volume::Usage limit_of(std::string_view tenant) const;

  std::atomic<bool> any_ = false;
  mutable runtime::Lock lock_;
  // Guarded by lock_. Reservations are bounded by the requests in flight and the open uploads.
  volume::Usage default_;  // 0: no limit
  std::map<std::string, volume::Usage, std::less<>> limits_;
  std::map<std::string, volume::Usage, std::less<>> reserved_;
};

}  // namespace ron::storage
