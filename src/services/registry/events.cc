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
    case EventKind::Expired:
      return "expired";
    case EventKind::Refused:
      return "refused";
  }
  return "unknown";
}

void tell(const observe::Log& log, const RegistryEvent& event) {
  const std::string_view corr_id = event.corr_id.text();
  if (event.kind == EventKind::Refused) {
    log.warn("registry refused", {{"action", event.action},
                                  {"proposal", event.proposal},
                                  {"signer", event.signer},
                                  {"code", event.code},
                                  {"token", event.token},
                                  {"corr_id", corr_id}});
  } else if (event.kind == EventKind::Committed) {
    log.info("registry committed", {{"proposal", event.proposal},
                                    {"version", event.version},
                                    {"token", event.token},
                                    {"corr_id", corr_id}});
  } else {
    log.info(name(event.kind), {{"proposal", event.proposal},
                                {"signer", event.signer},
                                {"token", event.token},
                                {"corr_id", corr_id}});
  }
}

}  // namespace ron::registry
