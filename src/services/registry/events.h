// What svc-registry announces: `committed` to whoever follows HEAD, `events` to the auditor.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/ulid.h"
#include "chain/change.h"
#include "observe/log.h"

namespace ron::registry {

// RegistryUpdated: a version was committed.
using Committed = chain::Head;

enum class EventKind : std::uint8_t { Proposed, Approved, Committed, Withdrawn, Expired, Refused };
std::string_view name(EventKind kind) noexcept;

// One line of the audit. A refused mutation is audited like one that was let through.
struct RegistryEvent {
  EventKind kind;
  std::string action;  // propose, approve, commit, withdraw
  std::string proposal;
  std::string signer{};
  std::string code{};  // why it was refused
  std::string token{};
  std::string tenant{};  // the capability's
  std::string by{};      // of a withdrawal: proposer or govern
  base::Ulid corr_id{};
  std::uint64_t version = 0;
};

void tell(const observe::Log& log, const RegistryEvent& event);

}  // namespace ron::registry
