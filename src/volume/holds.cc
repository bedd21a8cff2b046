#include "volume/holds.h"

#include <algorithm>
#include <utility>

namespace ron::volume {

std::vector<std::string> holders(const ObjectEntry& object, const Holds& holds) {
  std::vector<std::string> tenants;
  const auto first = holds.find(object.tenant);
  const bool spoken_for = first != holds.end() && counts(object, first->second);
  if (object.present() && !spoken_for) tenants.push_back(object.tenant);
  for (const auto& [tenant, hold] : holds) {
    if (counts(object, hold) && hold.state == HoldEntry::State::Held) tenants.push_back(tenant);
  }
  std::ranges::sort(tenants);
  return tenants;
}

std::optional<Holds> parse_holds(const std::vector<platform::KeyValuePair>& pairs) {
  Holds holds;
  for (const auto& [name, value] : pairs) {
    auto key = parse_hold_key(name);
    const auto entry = parse_entry<HoldEntry>(value);
    if (!key || !entry) return std::nullopt;
    holds.emplace(std::move(key->tenant), *entry);
  }
  return holds;
}

}  // namespace ron::volume
