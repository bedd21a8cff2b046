#include "app/doctor_index.h"

#include "app/doctor_memory.h"
#include "services/index/budget.h"

namespace ron::app {

void examine_index_files(const config::Config&, const std::string&, Findings&) {}

void judge_index(const config::Config& config, const platform::posix::Machine& machine,
                 std::size_t cores, Findings& out) {
  const auto settings = config.get(index::index_section());
  judge_open_files(machine, index::descriptors_needed(*settings, cores), "the index",
                   "lower index.max_conns or index.workers", out);
  judge_memory("index", index::memory_budget(*settings, cores), machine.memory_bytes,
               "lower index.cache.entries, index.storage.map_cache_bytes or index.max_conns", out);
}

}  // namespace ron::app
