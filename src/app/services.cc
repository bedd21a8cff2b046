#include "app/services.h"

#include <algorithm>
#include <array>

#include "app/doctor_edge.h"
#include "app/doctor_gateway.h"
#include "app/doctor_index.h"
#include "app/doctor_registry.h"
#include "app/doctor_storage.h"
#include "config/nearest.h"
#include "config/value.h"
#include "services/edge/service.h"
#include "services/gateway/service.h"
#include "services/index/service.h"
#include "services/registry/service.h"
#include "services/storage/service.h"

namespace ron::app {
namespace {

constexpr std::array kServices = {
    ServiceEntry{&storage::kKind, examine_storage_files, judge_storage, budget_storage},
    ServiceEntry{&registry::kKind, examine_registry_files, judge_registry, budget_registry},
    ServiceEntry{&index::kKind, examine_index_files, judge_index, budget_index},
    ServiceEntry{&edge::kKind, examine_edge_files, judge_edge, budget_edge},
    ServiceEntry{&gateway::kKind, examine_gateway_files, judge_gateway, budget_gateway},
};

base::Error unknown_service(const std::string& name) {
  std::vector<std::string> known;
  for (const ServiceEntry& entry : kServices) known.emplace_back(entry.kind->name);
  const std::string near = config::nearest(name, known);
  std::string list;
  for (const std::string& one : known) list += (list.empty() ? "" : ", ") + one;
  return {base::Code::Malformed, "no service '" + config::printable(name) + "' in this build" +
                                     (near.empty() ? "" : " (did you mean " + near + "?)") +
                                     "; there are " + list};
}

}  // namespace

std::span<const ServiceEntry> services() { return kServices; }

base::Result<Selection> select_services(const std::vector<std::string>& names) {
  const auto is_named = [&names](const ServiceEntry& entry) {
    return names.empty() || std::ranges::find(names, entry.kind->name) != names.end();
  };
  for (const std::string& name : names) {
    const auto is_it = [&name](const ServiceEntry& entry) { return entry.kind->name == name; };
    if (std::ranges::none_of(kServices, is_it)) return base::fail(unknown_service(name));
  }
  Selection selection;
  for (const ServiceEntry& entry : kServices) {
    if (is_named(entry)) selection.push_back(&entry);
  }
  return selection;
}

std::vector<std::string> in_front(std::vector<std::string> names) {
  if (!names.empty()) names.emplace_back(kServices.back().kind->name);
  return names;
}

bool is_amnesiac(const Selection& selection, const config::Config& config) {
  return std::ranges::all_of(selection, [&config](const ServiceEntry* entry) {
    return entry->kind->settings(config)->amnesia;
  });
}

}  // namespace ron::app
