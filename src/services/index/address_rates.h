// AddressRates: how many requests an address may make in a second. A network of 64 bits of IPv6 is
// one address, since its client can take a new one for each request.
//
// Bounded: of each shard's addresses the one that asked longest ago makes room, so that a flood of
// addresses costs memory of a known size. One that was forgotten begins with a full bucket, which a
// flood cannot use: it has a burst of one second, as everyone.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>

#include "base/result.h"
#include "platform/executor.h"
#include "platform/net.h"
#include "runtime/lock.h"
#include "runtime/token_bucket.h"

namespace ron::index {

// Any thread.
class AddressRates {
 public:
  AddressRates();
  AddressRates(const AddressRates&) = delete;
  AddressRates& operator=(const AddressRates&) = delete;

  static constexpr std::size_t kShards = 16;
  static constexpr std::size_t kAddressesPerShard = 1024;
  static constexpr std::size_t kMost = kShards * kAddressesPerShard;
  static constexpr std::size_t kAddressBytes = 160;  // with its place

  // RateLimited, with the seconds to wait, beyond `rps` of this address.
  base::Result<void> take(const platform::Endpoint& peer, std::uint64_t rps,
                          platform::TimePoint now);

 private:
  using Address = std::array<std::uint8_t, 16>;
  // How many are looked at to find one that makes room.
  static constexpr std::size_t kCandidates = 8;

  struct Hash {
    std::size_t operator()(const Address& address) const noexcept;
  };
  struct Entry {
    explicit Entry(std::uint64_t of_rps) : rps(of_rps), bucket(of_rps, of_rps) {}
    std::uint64_t rps;
    platform::TimePoint last{};
    runtime::TokenBucket bucket;
  };
  struct alignas(64) Shard {
    Shard();
    runtime::Lock lock;
    std::unordered_map<Address, std::unique_ptr<Entry>, Hash> entries;  // guarded by lock
  };
  static void make_room(Shard& shard);

  std::unique_ptr<Shard[]> shards_;
};

}  // namespace ron::index
