#include "sim/index/ledger.h"

#include <algorithm>

namespace ron::sim {

std::optional<std::string> NameLedger::told(std::uint64_t version, const std::string& target,
                                            std::uint64_t floor) {
  const std::string what = "version " + std::to_string(version);
  if (version == 0) return "a name at version 0";
  if (version < floor) return what + " after somebody was told of " + std::to_string(floor);
  if (!asked_.contains(target)) return what + " is something that nobody asked for: " + target;
  if (!target.empty() && refused_.contains(target)) return what + " was refused: " + target;
  const auto [known, is_new] = versions_.emplace(version, target);
  newest_ = std::max(newest_, version);
  if (is_new || known->second == target) return std::nullopt;
  return what + " is two things: " + known->second + " and " + target;
}

std::optional<std::string> NameLedger::written(std::uint64_t version, const std::string& target,
                                               std::uint64_t floor) {
  if (version <= floor) {
    return "version " + std::to_string(version) + " was written after somebody was told of " +
           std::to_string(floor);
  }
  return told(version, target, floor);
}

std::optional<std::string> NameLedger::refused(const std::string& target) {
  if (target.empty()) return std::nullopt;
  refused_.insert(target);
  for (const auto& [version, known] : versions_) {
    if (known == target) return "version " + std::to_string(version) + " is there and was refused";
  }
  return std::nullopt;
}

void ProviderLedger::acknowledged(std::size_t node, std::uint64_t seq) {
  newest_[node] = std::max(newest_[node], seq);
}

}  // namespace ron::sim
