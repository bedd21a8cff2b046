// What svc-gateway announces on `events`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "observe/log.h"

namespace ron::gateway {

enum class EventKind : std::uint8_t {
  Degraded,   // writes are shed
  Recovered,  // they are taken again
  MemberDown,
  MemberEjected,
  MemberBack,
  MemberDrained,
};
std::string_view name(EventKind kind) noexcept;

struct GatewayEvent {
  EventKind kind;
  std::string what;  // the member, or what is missing
};

void tell(const observe::Log& log, const GatewayEvent& event);

}  // namespace ron::gateway
