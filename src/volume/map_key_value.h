// MapKeyValue: a map in memory where an index is wanted that is not kept. Bounded by what is put
// into it: an entry per object, upload, part and hold of the volume it is made from.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "platform/key_value.h"

namespace ron::volume {

// One task at a time. Never waits and never fails.
class MapKeyValue final : public platform::KeyValue {
 public:
  base::Result<Found> try_get(std::string_view key, std::string& value) override {
    const auto found = map_.find(key);
    if (found == map_.end()) return Found::No;
    value = found->second;
    return Found::Yes;
  }
  platform::Task<base::Result<std::optional<std::string>>> get(std::string key) override {
    const auto found = map_.find(key);
    if (found == map_.end()) co_return std::nullopt;
    co_return found->second;
  }
  platform::Task<base::Result<std::vector<platform::KeyValuePair>>> scan(
      std::string from, std::string until, std::size_t limit) override {
    std::vector<platform::KeyValuePair> pairs;
    for (auto at = map_.lower_bound(from); at != map_.end() && pairs.size() < limit; ++at) {
      if (!until.empty() && at->first >= until) break;
      pairs.emplace_back(at->first, at->second);
    }
    co_return pairs;
  }
  platform::Task<base::Result<void>> write(platform::KeyValueBatch batch) override {
    for (auto& [key, value] : batch.changes) {
      if (value) {
        map_[std::move(key)] = std::move(*value);
      } else {
        map_.erase(key);
      }
    }
    co_return base::Result<void>();
  }
  platform::Task<base::Result<void>> flush() override { co_return base::Result<void>(); }
  [[nodiscard]] std::uint64_t memory_bytes() const override {
    constexpr std::uint64_t kNodeBytes = 128;
    return map_.size() * kNodeBytes;
  }

 private:
  std::map<std::string, std::string, std::less<>> map_;
};

}  // namespace ron::volume
