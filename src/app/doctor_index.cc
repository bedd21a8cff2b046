#include "app/doctor_index.h"

#include "services/index/config.h"

namespace ron::app {
namespace {

// The files of the map, of the log, listeners and logs.
constexpr std::uint64_t kBesides = 256;

// The most connections it has at once: its clients', and to each of those it asks from each core.
std::uint64_t descriptors_needed(const index::IndexConfig& config, std::size_t cores) {
  const std::uint64_t targets = config.dht.proxies.size() + config.peers.size();
  return config.server.max_conns + targets * cores * config.workers + kBesides;
}

}  // namespace

void examine_index_files(const config::Config&, const std::string&, Findings&) {}

void judge_index(const config::Config& config, const platform::posix::Machine& machine,
                 std::size_t cores, Findings& out) {
  const auto settings = config.get(index::index_section());
  judge_open_files(machine, descriptors_needed(*settings, cores), "the index",
                   "lower index.max_conns or index.workers", out);
}

}  // namespace ron::app
