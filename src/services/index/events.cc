#include "services/index/events.h"

namespace ron::index {

std::string_view name(EventKind kind) noexcept {
  switch (kind) {
    case EventKind::NameSet:
      return "name set";
    case EventKind::NameRemoved:
      return "name removed";
    case EventKind::Announced:
      return "provider announced";
    case EventKind::Pinned:
      return "pinned";
    case EventKind::Unpinned:
      return "unpinned";
    case EventKind::Reindexed:
      return "reindexed";
    case EventKind::Refused:
      return "index refused";
  }
  return "unknown";
}

void tell(const observe::Log& log, const IndexEvent& event) {
  const observe::Log line = log.with(event.corr_id);
  if (event.kind == EventKind::Refused) {
    line.warn(name(event.kind), {{"key", event.key}, {"code", event.code}, {"token", event.token}});
    return;
  }
  line.info(name(event.kind),
            {{"key", event.key}, {"version", event.version}, {"token", event.token}});
}

}  // namespace ron::index
