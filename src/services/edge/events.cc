#include "services/edge/events.h"

namespace ron::edge {
namespace {

bool is_trouble(EventKind kind) noexcept {
  switch (kind) {
    case EventKind::FillFailed:
    case EventKind::FillRefused:
    case EventKind::PackRefused:
    case EventKind::SiteFailed:
      return true;
    case EventKind::Filled:
    case EventKind::PackMounted:
    case EventKind::PackRemoved:
    case EventKind::SiteMounted:
    case EventKind::SiteSwitched:
    case EventKind::SiteRemoved:
    case EventKind::Purged:
      return false;
  }
  return false;
}

}  // namespace

std::string_view name(EventKind kind) noexcept {
  switch (kind) {
    case EventKind::Filled:
      return "filled";
    case EventKind::FillFailed:
      return "fill failed";
    case EventKind::FillRefused:
      return "fill refused";
    case EventKind::PackMounted:
      return "pack mounted";
    case EventKind::PackRemoved:
      return "pack removed";
    case EventKind::PackRefused:
      return "pack refused";
    case EventKind::SiteMounted:
      return "site mounted";
    case EventKind::SiteSwitched:
      return "site switched";
    case EventKind::SiteRemoved:
      return "site removed";
    case EventKind::SiteFailed:
      return "site failed";
    case EventKind::Purged:
      return "purged";
  }
  return "unknown";
}

void tell(const observe::Log& log, const EdgeEvent& event) {
  const observe::Log line = log.with(event.corr_id);
  if (is_trouble(event.kind)) {
    line.warn(name(event.kind),
              {{"subject", event.subject}, {"what", event.detail}, {"token", event.token}});
    return;
  }
  line.info(name(event.kind), {{"subject", event.subject},
                               {"what", event.detail},
                               {"bytes", event.bytes},
                               {"token", event.token}});
}

}  // namespace ron::edge
