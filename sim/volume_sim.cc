// volume_sim: one volume on a simulated disk, seed after seed, through power cuts that lose and
// tear what was not synced, crashes, failing writes and names, compactions, lost indexes, flipped
// bits and unreadable sectors, until something that was acknowledged does not hold.
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

#include "platform/posix/clock.h"
#include "sim/harness/seeds.h"
#include "volume/test_history.h"

namespace ron::sim {
namespace {

using volume::History;
using volume::HistoryCounts;
using volume::HistoryPlan;

constexpr std::string_view kSkipSync = "skip-sync";
// Of so many seeds some have a disk that reports errors, and some one that decays.
constexpr std::uint64_t kPlans = 5;
constexpr std::uint64_t kFailing = 2;
constexpr std::uint64_t kDecaying = 2;
static_assert(kFailing + kDecaying < kPlans);

int usage(const std::string& complaint) {
  std::fprintf(stderr, "volume_sim: %s\nusage: volume_sim %s\nplants:\n  %s      %s\n",
               complaint.c_str(), std::string(kSeedArguments).c_str(),
               std::string(kSkipSync).c_str(), "acknowledges what it has not synced");
  return 2;
}

HistoryPlan plan_of(std::uint64_t seed, bool skip_sync) {
  const std::uint64_t kind = seed % kPlans;
  HistoryPlan plan = kind < kFailing               ? volume::failing_history_plan(seed)
                     : kind < kFailing + kDecaying ? volume::decaying_history_plan(seed)
                                                   : volume::history_plan(seed);
  plan.options.skip_sync = skip_sync;
  return plan;
}

void print_line(std::string_view line) {
  std::printf("%.*s\n", static_cast<int>(line.size()), line.data());
}

void print_summary(const HistoryCounts& counts, std::uint64_t seeds, std::uint64_t twice,
                   base::Duration wall) {
  const std::pair<const char*, std::uint64_t> lines[] = {
      {"writes submitted", counts.writes},
      {"writes acknowledged", counts.acknowledged},
      {"writes answered with an error, NotFound among them", counts.refused},
      {"objects and uploads checked", counts.checks},
      {"orderly stops", counts.stops},
      {"crashes", counts.crashes},
      {"power cuts", counts.power_cuts},
      {"writes and names lost or torn by them", counts.lost_changes},
      {"compactions", counts.compactions},
      {"indexes made anew", counts.rebuilds},
      {"bits flipped", counts.rotten},
      {"sectors broken", counts.broken},
      {"seeds run twice", twice},
  };
  for (const auto& [name, count] : lines) {
    std::printf("  %10llu  %s\n", static_cast<unsigned long long>(count), name);
  }
  std::printf("%llu seeds, %.1f s of wall time\n", static_cast<unsigned long long>(seeds),
              static_cast<double>(wall.count()) / 1e9);
}

int run(const SeedArguments& arguments) {
  const bool planted = !arguments.plant.empty();
  const platform::TimePoint began = platform::posix::read_monotonic();
  HistoryCounts total;
  SeedProgram program("volume_sim", arguments);
  const auto failure = program.run([&](std::uint64_t seed, bool again) -> SeedResult {
    const bool tells = arguments.trace && !again;
    History history(plan_of(seed, planted), tells ? History::Print(print_line) : History::Print());
    if (tells && arguments.trace_all) history.world().set_trace_sink(print_line);
    const std::string violation = history.run();
    if (!again) total.add(history.counts());
    if (violation.empty()) return {.hash = history.hash()};
    return {.verdict = violation, .hash = history.hash()};
  });
  if (planted && failure) {
    std::printf("the bug was found at seed %llu: %s\n",
                static_cast<unsigned long long>(failure->seed), failure->why.c_str());
    return 0;
  }
  if (planted) {
    std::printf("the bug was not found within %llu seeds\n",
                static_cast<unsigned long long>(arguments.seeds));
    return 1;
  }
  if (failure) return report(*failure);
  print_summary(total, arguments.seeds, program.run_twice(),
                platform::posix::read_monotonic() - began);
  return 0;
}

}  // namespace
}  // namespace ron::sim

int main(int count, char** words) {
  using namespace ron::sim;
  SeedArguments arguments;
  if (const auto complaint = parse(count, words, arguments)) return usage(*complaint);
  if (!arguments.plant.empty() && arguments.plant != kSkipSync) {
    return usage("no such plant: " + arguments.plant);
  }
  return run(arguments);
}
