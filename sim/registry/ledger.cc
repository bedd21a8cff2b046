#include "sim/registry/ledger.h"

#include <algorithm>

namespace ron::sim {

std::optional<std::string> Ledger::told(std::uint64_t version, const std::string& hash,
                                        std::uint64_t floor) {
  if (version < floor) {
    return "HEAD " + std::to_string(version) + " after somebody was told of " +
           std::to_string(floor);
  }
  const auto [known, is_new] = hashes_.emplace(version, hash);
  newest_ = std::max(newest_, version);
  if (is_new || known->second == hash) return std::nullopt;
  return "version " + std::to_string(version) + " is two things: " + known->second + " and " + hash;
}

}  // namespace ron::sim
