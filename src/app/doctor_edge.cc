#include "app/doctor_edge.h"

#include "app/doctor_memory.h"
#include "services/edge/budget.h"

namespace ron::app {

void examine_edge_files(const config::Config&, const std::string&, Findings&) {}

void judge_edge(const config::Config& config, const platform::posix::Machine& machine,
                std::size_t cores, Findings& out) {
  const auto settings = config.get(edge::edge_section());
  judge_open_files(machine, edge::descriptors_needed(*settings, cores), "the edge",
                   "lower edge.max_conns or edge.workers", out);
  judge_memory(edge::memory_budget(*settings, cores), machine.memory_bytes,
               "lower edge.cache.ram_bytes, edge.cache.entries, edge.workers or edge.max_conns",
               out);
}

}  // namespace ron::app
