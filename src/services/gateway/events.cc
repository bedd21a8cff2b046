#include "services/gateway/events.h"

namespace ron::gateway {

std::string_view name(EventKind kind) noexcept {
  switch (kind) {
    case EventKind::Degraded:
      return "degraded";
    case EventKind::Recovered:
      return "recovered";
    case EventKind::MemberDown:
      return "upstream down";
    case EventKind::MemberEjected:
      return "upstream ejected";
    case EventKind::MemberBack:
      return "upstream back";
    case EventKind::MemberDrained:
      return "upstream drained";
  }
  return "unknown";
}

void tell(const observe::Log& log, const GatewayEvent& event) {
  const bool is_good = event.kind == EventKind::Recovered || event.kind == EventKind::MemberBack;
  if (is_good) {
    log.info(name(event.kind), {{"what", event.what}});
  } else {
    log.warn(name(event.kind), {{"what", event.what}});
  }
}

}  // namespace ron::gateway
