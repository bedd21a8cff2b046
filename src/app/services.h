// The services of this program, each declared once. Their commands, `ron up` and its --only, the
// schema, `ron doctor`, `ron topology --static` and the reference pages come from this table.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "app/finding.h"
#include "base/result.h"
#include "config/load.h"
#include "platform/posix/probe.h"
#include "services/kit/budget.h"
#include "services/kit/service_kind.h"

namespace ron::app {

struct ServiceEntry {
  const kit::ServiceKind* kind;
  // What `ron doctor` says of it: its part of the data directory, if it has one, and its limits.
  void (*examine_files)(const config::Config& config, const std::string& directory, Findings& out);
  void (*judge)(const config::Config& config, const platform::posix::Machine& machine,
                std::size_t cores, Findings& out);
  // The memory it may take. Behind another service, `front` has the settings of the one that
  // listens for it; else null.
  std::vector<kit::Addend> (*budget)(const config::Config& config, const kit::ServiceConfig* front,
                                     std::size_t cores);
};

// In the order of start: whom others ask comes before them.
std::span<const ServiceEntry> services();

// The services of one process, at least one, in the order of start. The last is in front: it alone
// listens, and its admin listener shows the others. It stops first.
using Selection = std::vector<const ServiceEntry*>;
inline const kit::ServiceKind& front(const Selection& selection) { return *selection.back()->kind; }

// Those of the names, or all when there are none; Malformed names the one that is not known, and
// those that are.
base::Result<Selection> select_services(const std::vector<std::string>& names);

// What `ron up --only` runs: those that are named, behind the one that is in front of all.
std::vector<std::string> in_front(std::vector<std::string> names);

// None of them writes to the disk.
bool is_amnesiac(const Selection& selection, const config::Config& config);

}  // namespace ron::app
