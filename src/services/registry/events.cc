#include "services/registry/events.h"

namespace ron::registry {

std::string_view name(EventKind kind) noexcept {
  switch (kind) {
    case EventKind::Proposed:
      return "proposed";
    case EventKind::Approved:
      return "approved";
    case EventKind::Committed:
      return "committed";
    case EventKind::Withdrawn:
      return "withdrawn";
    case EventKind::Expired:
      return "expired";
    case EventKind::Refused:
      return "refused";
  }
  return "unknown";
}

void tell(const observe::Log& log, const RegistryEvent& event) {
  const observe::Log line = log.with(event.corr_id);
  if (event.kind == EventKind::Refused) {
    line.warn("registry refused", {{"action", event.action},
                                   {"proposal", event.proposal},
                                   {"signer", event.signer},
                                   {"code", event.code},
                                   {"token", event.token}});
  } else if (event.kind == EventKind::Committed) {
    line.info("registry committed",
              {{"proposal", event.proposal}, {"version", event.version}, {"token", event.token}});
  } else if (event.kind == EventKind::Withdrawn) {
    line.info("withdrawn", {{"proposal", event.proposal},
                            {"by", event.by},
                            {"tenant", event.tenant},
                            {"token", event.token}});
  } else {
    line.info(name(event.kind),
              {{"proposal", event.proposal}, {"signer", event.signer}, {"token", event.token}});
  }
}

}  // namespace ron::registry
