// What svc-index announces on `events`, to the auditor.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/ulid.h"
#include "observe/log.h"

namespace ron::index {

enum class EventKind : std::uint8_t {
  NameSet,
  NameRemoved,
  Announced,
  Pinned,
  Unpinned,
  Reindexed,
  Refused
};
std::string_view name(EventKind kind) noexcept;

// One line of the audit. A refused change is audited like one that was let through.
struct IndexEvent {
  EventKind kind;
  std::string key;
  std::uint64_t version = 0;  // of a name; else how many
  std::string code{};         // why it was refused
  std::string token{};
  base::Ulid corr_id{};
};

void tell(const observe::Log& log, const IndexEvent& event);

}  // namespace ron::index
