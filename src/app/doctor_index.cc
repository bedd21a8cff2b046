#include "app/doctor_index.h"

#include "services/index/budget.h"

namespace ron::app {

void examine_index_files(const config::Config&, const std::string&, Findings&) {}

void judge_index(const config::Config& config, const platform::posix::Machine& machine,
                 std::size_t cores, Findings& out) {
  const auto settings = config.get(index::index_section());
  judge_open_files(machine, index::descriptors_needed(*settings, cores), "the index",
                   "lower index.max_conns or index.workers", out);
}

std::vector<kit::Addend> budget_index(const config::Config& config, const kit::ServiceConfig* front,
                                      std::size_t cores) {
  auto settings = *config.get(index::index_section());
  if (front != nullptr) settings.server.max_conns = front->server.max_conns;
  return index::memory_budget(settings, cores);
}

}  // namespace ron::app
