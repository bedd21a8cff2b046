// MemoryMap: an ordered map in memory behind the interface of one on disk, for amnesia mode.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "platform/key_value.h"
#include "runtime/lock.h"
#include "services/index/wires.h"

namespace ron::index {

// Any thread. Never waits; StorageFull beyond its bound.
class MemoryMap final : public platform::KeyValue {
 public:
  explicit MemoryMap(std::uint64_t most_bytes) : most_bytes_(most_bytes), lock_(kMemoryMapLock) {}

  // Whether so many changes would be taken. Those that only erase always are.
  [[nodiscard]] bool has_room_for(const platform::KeyValueBatch& batch) const {
    const std::lock_guard guard(lock_);
    return bytes_ + bytes_of(batch) + kSpareBytes <= most_bytes_ || bytes_of(batch) == 0;
  }

  base::Result<Found> try_get(std::string_view key, std::string& value) override {
    const std::lock_guard guard(lock_);
    const auto found = map_.find(key);
    if (found == map_.end()) return Found::No;
    value = found->second;
    return Found::Yes;
  }
  platform::Task<base::Result<std::optional<std::string>>> get(std::string key) override {
    std::string value;
    const auto found = try_get(key, value);
    if (found == Found::No) co_return std::nullopt;
    co_return value;
  }
  platform::Task<base::Result<std::vector<platform::KeyValuePair>>> scan(
      std::string from, std::string until, std::size_t limit) override {
    co_return scan_now(from, until, limit);
  }
  platform::Task<base::Result<void>> write(platform::KeyValueBatch batch) override {
    co_return write_now(std::move(batch));
  }
  platform::Task<base::Result<void>> flush() override { co_return base::Result<void>(); }
  [[nodiscard]] std::uint64_t memory_bytes() const override {
    const std::lock_guard guard(lock_);
    return bytes_;
  }

 private:
  // For the position that is written with every batch.
  static constexpr std::uint64_t kSpareBytes = base::kKiB;
  // What a pair takes besides its text.
  static constexpr std::uint64_t kPairBytes = 128;

  static std::uint64_t bytes_of(const platform::KeyValueBatch& batch) {
    std::uint64_t more = 0;
    for (const auto& change : batch.changes) {
      if (change.value) more += kPairBytes + change.key.size() + change.value->size();
    }
    return more;
  }

  std::vector<platform::KeyValuePair> scan_now(const std::string& from, const std::string& until,
                                               std::size_t limit) const {
    std::vector<platform::KeyValuePair> pairs;
    const std::lock_guard guard(lock_);
    for (auto at = map_.lower_bound(from); at != map_.end() && pairs.size() < limit; ++at) {
      if (!until.empty() && at->first >= until) break;
      pairs.emplace_back(at->first, at->second);
    }
    return pairs;
  }

  base::Result<void> write_now(platform::KeyValueBatch batch) {
    const std::lock_guard guard(lock_);
    if (bytes_ + bytes_of(batch) > most_bytes_ + kSpareBytes) {
      return base::fail(base::Code::StorageFull, "the memory for amnesia mode is full");
    }
    for (auto& [key, value] : batch.changes) {
      const auto found = map_.find(key);
      if (found != map_.end()) {
        bytes_ -= kPairBytes + found->first.size() + found->second.size();
        map_.erase(found);
      }
      if (!value) continue;
      bytes_ += kPairBytes + key.size() + value->size();
      map_.emplace(std::move(key), std::move(*value));
    }
    return {};
  }

  const std::uint64_t most_bytes_;
  mutable runtime::Lock lock_;
  std::map<std::string, std::string, std::less<>> map_;  // guarded by lock_, as what follows
  std::uint64_t bytes_ = 0;
};

}  // namespace ron::index
