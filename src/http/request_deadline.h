// How long a client is ready to wait, if it says so: `Request-Timeout: 2.5` in seconds, or
// `Deadline: 2026-03-01T12:00:00.5Z` (RFC 3339) or in seconds since 1970. Of several the soonest
// counts; what cannot be read is passed over, since asking for less time is a courtesy. A pure
// function.
#pragma once

#include <cstdint>
#include <optional>

#include "base/units.h"
#include "http/fields.h"
#include "platform/clock.h"

namespace ron::http {

// From now on; zero if the time has passed already. Nothing if the client does not say. The clock
// is looked at only for a Deadline.
std::optional<base::Duration> requested_time(const FieldTable& head, const platform::Clock& clock);

}  // namespace ron::http
