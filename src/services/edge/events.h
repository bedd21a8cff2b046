// What svc-edge announces on `events`, to the auditor.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/ulid.h"
#include "observe/log.h"

namespace ron::edge {

enum class EventKind : std::uint8_t {
  Filled,       // an origin's answer is in the cache
  FillFailed,   // or is not
  FillRefused,  // a rule does not let it be asked for
  PackMounted,
  PackRemoved,
  PackRefused,
  SiteMounted,
  SiteSwitched,
  SiteRemoved,
  SiteFailed,
  Purged
};
std::string_view name(EventKind kind) noexcept;

// On whose behalf something is done, for the audit; empty: the service's own.
struct Operator {
  std::string token{};  // the fingerprint of a capability
  base::Ulid corr_id{};
};

// One line of the audit.
struct EdgeEvent {
  EventKind kind;
  std::string subject{};  // URL, pack or site
  std::string detail{};   // what came of it
  std::uint64_t bytes = 0;
  std::string token{};  // the fingerprint of whose capability it was, if anyone's
  base::Ulid corr_id{};
};

void tell(const observe::Log& log, const EdgeEvent& event);

}  // namespace ron::edge
