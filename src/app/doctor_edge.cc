#include "app/doctor_edge.h"

#include <string>
#include <vector>

#include "app/doctor_memory.h"
#include "base/about.h"
#include "services/edge/budget.h"

namespace ron::app {

void examine_edge_files(const config::Config&, const std::string&, Findings&) {}

namespace {

// How much of the disk others leave to it is not known here.
void tell_disk(const std::vector<kit::Addend>& budget, Findings& out) {
  for (const kit::Addend& addend : budget) {
    out.push_back({Finding::Level::Ok, "disk",
                   base::about(addend.bytes()) + " = " + std::to_string(addend.count) + " x " +
                       base::about(addend.each_bytes) + "  " + addend.what});
  }
  if (budget.empty()) return;
  out.push_back(
      {Finding::Level::Ok, "disk",
       base::about(kit::total_bytes(budget)) + " at most for the bytes of the edge's cache"});
}

}  // namespace

void judge_edge(const config::Config& config, const platform::posix::Machine& machine,
                std::size_t cores, Findings& out) {
  const auto settings = config.get(edge::edge_section());
  judge_open_files(machine, edge::descriptors_needed(*settings, cores), "the edge",
                   "lower edge.max_conns or edge.workers", out);
  judge_memory(edge::memory_budget(*settings, cores), machine.memory_bytes,
               "lower edge.cache.ram_bytes, edge.cache.entries, edge.workers, edge.loaders or "
               "edge.max_conns",
               out);
  tell_disk(edge::disk_budget(*settings), out);
}

}  // namespace ron::app
