#include "services/index/address_rates.h"

#include <chrono>
#include <cstring>
#include <mutex>
#include <string>

#include "platform/client_network.h"
#include "services/index/wires.h"

namespace ron::index {

AddressRates::Shard::Shard() : lock(kRatesLock) {}

AddressRates::AddressRates() : shards_(std::make_unique<Shard[]>(kShards)) {}

std::size_t AddressRates::Hash::operator()(const Address& address) const noexcept {
  std::array<std::uint64_t, 2> words{};
  std::memcpy(words.data(), address.data(), sizeof words);
  return (words[0] * 0x9E3779B97F4A7C15ULL) ^ (words[1] * 0xC2B2AE3D27D4EB4FULL);
}

void AddressRates::make_room(Shard& shard) {
  auto oldest = shard.entries.begin();
  auto candidate = oldest;
  for (std::size_t i = 0; i < kCandidates && candidate != shard.entries.end(); ++i, ++candidate) {
    if (candidate->second->last < oldest->second->last) oldest = candidate;
  }
  shard.entries.erase(oldest);
}

base::Result<void> AddressRates::take(const platform::Endpoint& peer, std::uint64_t rps,
                                      platform::TimePoint now) {
  if (rps == 0 || peer.is_unix()) return {};
  const Address address = platform::client_network(peer);
  Shard& shard = shards_[(Hash{}(address) >> 32) % kShards];
  const std::lock_guard guard(shard.lock);
  auto found = shard.entries.find(address);
  if (found == shard.entries.end()) {
    if (shard.entries.size() >= kAddressesPerShard) make_room(shard);
    found = shard.entries.emplace(address, std::make_unique<Entry>(rps)).first;
  }
  if (found->second->rps != rps) found->second = std::make_unique<Entry>(rps);
  Entry& entry = *found->second;
  entry.last = now;
  const auto taken = entry.bucket.try_take(now);
  if (taken) return {};
  return base::fail(base::Error(base::Code::RateLimited, "more requests than one address may make")
                        .with("per_ip_rps", std::to_string(rps)));
}

}  // namespace ron::index
