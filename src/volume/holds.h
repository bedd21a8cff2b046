// Who holds an object, from what the index says of it. No I/O.
//
// The tenant in an object's own record holds it first. What changes after that is recorded beside
// it: a hold that is added or removed counts if it is newer than the object's record, and so never
// speaks for an object that was deleted and stored again.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "platform/key_value.h"
#include "volume/entry.h"

namespace ron::volume {

// What is recorded of the holds on one object, by tenant.
using Holds = std::map<std::string, HoldEntry, std::less<>>;

// The entry speaks of this object, not of one that had its address before.
[[nodiscard]] inline bool counts(const ObjectEntry& object, const HoldEntry& hold) noexcept {
  return object.present() && hold.sequence > object.sequence;
}

// `hold` is what is recorded of the tenant, if anything.
[[nodiscard]] inline bool is_held(const ObjectEntry& object, std::string_view tenant,
                                  const std::optional<HoldEntry>& hold) noexcept {
  if (hold && counts(object, *hold)) return hold->state == HoldEntry::State::Held;
  return object.present() && object.tenant == tenant;
}

// All of them, in order of their names.
[[nodiscard]] std::vector<std::string> holders(const ObjectEntry& object, const Holds& holds);

// From pairs of the index; nothing when one is damaged.
[[nodiscard]] std::optional<Holds> parse_holds(const std::vector<platform::KeyValuePair>& pairs);

}  // namespace ron::volume
