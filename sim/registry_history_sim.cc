// registry_history_sim: random histories of a registry's proposals, approvals, commits and crashes,
// seed after seed, until a version is there that must not be, or something acknowledged is not.
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

#include "platform/posix/clock.h"
#include "services/registry/test_history.h"
#include "sim/harness/seeds.h"

namespace ron::sim {
namespace {

using registry::History;
using registry::HistoryCounts;
using registry::HistoryPlant;

int usage(const std::string& complaint) {
  std::fprintf(stderr, "registry_history_sim: %s\nusage: registry_history_sim %s\nplants:\n",
               complaint.c_str(), std::string(kSeedArguments).c_str());
  for (const registry::HistoryPlantName& plant : registry::kHistoryPlants) {
    std::fprintf(stderr, "  %-16s %s\n", std::string(plant.name).c_str(),
                 std::string(plant.help).c_str());
  }
  return 2;
}

void print_line(std::string_view line) {
  std::printf("%.*s\n", static_cast<int>(line.size()), line.data());
}

void print_summary(const HistoryCounts& counts, std::uint64_t checked, std::uint64_t seeds,
                   base::Duration wall) {
  const std::pair<const char*, std::uint64_t> lines[] = {
      {"proposals", counts.proposals},
      {"approvals", counts.approvals},
      {"versions", counts.commits},
      {"of them rotations", counts.rotations},
      {"revocations", counts.revocations},
      {"supersedes", counts.supersedes},
      {"commits asked for again", counts.repeated},
      {"syncs", counts.syncs},
      {"batches that the disk refused", counts.refused_batches},
      {"crashes", counts.crashes},
      {"versions lost before they were acknowledged", counts.lost_versions},
      {"versions found that were not acknowledged", counts.found_versions},
      {"times that the clock went back", counts.clock_back},
      {"signatures checked", checked},
  };
  for (const auto& [name, count] : lines) {
    std::printf("  %10llu  %s\n", static_cast<unsigned long long>(count), name);
  }
  for (const auto& [name, count] : counts.refusals) {
    std::printf("  %10llu  refused: %s\n", static_cast<unsigned long long>(count), name.c_str());
  }
  std::printf("%llu histories, %.1f s of wall time\n", static_cast<unsigned long long>(seeds),
              static_cast<double>(wall.count()) / 1e9);
}

int run(const SeedArguments& arguments, HistoryPlant plant) {
  const platform::TimePoint began = platform::posix::read_monotonic();
  HistoryCounts total;
  registry::Keyring keys;
  SeedProgram program("registry_history_sim", arguments);
  const auto failure = program.run([&](std::uint64_t seed, bool again) -> SeedResult {
    const bool tells = arguments.trace && !again;
    History history(seed, keys, plant, tells ? History::Print(print_line) : History::Print());
    const std::string violation = history.run();
    if (!again) total.add(history.counts());
    if (violation.empty()) return {.hash = history.hash()};
    return {.verdict = violation, .hash = history.hash()};
  });
  if (plant != HistoryPlant::None) {
    if (failure) {
      std::printf("the bug was found at seed %llu: %s\n",
                  static_cast<unsigned long long>(failure->seed), failure->why.c_str());
      return 0;
    }
    std::printf("the bug was not found within %llu seeds\n",
                static_cast<unsigned long long>(arguments.seeds));
    return 1;
  }
  if (failure) return report(*failure);
  print_summary(total, keys.cache().checked(), arguments.seeds,
                platform::posix::read_monotonic() - began);
  return 0;
}

}  // namespace
}  // namespace ron::sim

int main(int count, char** words) {
  using namespace ron::sim;
  SeedArguments arguments;
  if (const auto complaint = parse(count, words, arguments)) return usage(*complaint);
  if (arguments.plant.empty()) return run(arguments, HistoryPlant::None);
  for (const ron::registry::HistoryPlantName& plant : ron::registry::kHistoryPlants) {
    if (plant.name == arguments.plant) return run(arguments, plant.plant);
  }
  return usage("no such plant: " + arguments.plant);
}
