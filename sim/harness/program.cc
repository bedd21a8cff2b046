#include "sim/harness/program.h"

#include <algorithm>
#include <cstdio>
#include <string>

#include "platform/posix/clock.h"
#include "sim/harness/seeds.h"

namespace ron::sim {
namespace {

unsigned long long plain(std::uint64_t value) { return value; }
double seconds(base::Duration duration) { return static_cast<double>(duration.count()) / 1e9; }

int usage(const Simulation& simulation, std::string_view complaint) {
  const std::string name(simulation.name);
  std::fprintf(stderr, "%s: %s\n", name.c_str(), std::string(complaint).c_str());
  std::fprintf(stderr, "usage: %s %s\nplants:\n", name.c_str(),
               std::string(kSeedArguments).c_str());
  for (const PlantInfo& plant : simulation.plants) {
    std::fprintf(stderr, "  %-14s %s\n", std::string(plant.name).c_str(),
                 std::string(plant.what).c_str());
  }
  return 2;
}

void print_counts(const char* title, const std::map<std::string, std::uint64_t>& counts) {
  std::printf("%s\n", title);
  for (const auto& [name, count] : counts) {
    std::printf("  %10llu  %s\n", plain(count), name.c_str());
  }
}

void print_summary(const Tally& tally, std::uint64_t seeds, base::Duration wall) {
  print_counts("requests by outcome", tally.outcomes);
  print_counts("faults injected", tally.faults);
  print_counts("events", tally.events);
  std::printf("%llu seeds, %llu operations checked, %llu acknowledged (%llu read back)\n",
              plain(seeds), plain(tally.operations), plain(tally.acknowledged),
              plain(tally.acknowledged_and_read));
  std::printf("%.0f s of virtual time in %llu steps, %.1f s of wall time, %.1f seeds/s\n",
              seconds(tally.virtual_time), plain(tally.steps), seconds(wall),
              static_cast<double>(seeds) / std::max(seconds(wall), 0.001));
}

int report_plant(const std::optional<SeedFailure>& failure, std::uint64_t seeds) {
  if (!failure) {
    std::printf("the bug was not found within %llu seeds\n", plain(seeds));
    return 1;
  }
  std::printf("the bug was found at seed %llu: %s\nreplay: %s\n", plain(failure->seed),
              failure->why.c_str(), failure->replay.c_str());
  return 0;
}

int run(const Simulation& simulation, const SeedArguments& arguments) {
  RunOptions options;
  options.plant = arguments.plant;
  options.all_steps = arguments.trace_all;
  if (arguments.trace) {
    options.print = [](std::string_view line) {
      std::printf("%.*s\n", static_cast<int>(line.size()), line.data());
    };
  }
  const platform::TimePoint began = platform::posix::read_monotonic();
  Tally total;
  SeedProgram program(simulation.name, arguments);
  const auto failure = program.run([&](std::uint64_t seed, bool again) -> SeedResult {
    const RunOptions silent{.plant = arguments.plant, .print = {}};
    const RunResult result = run_seed(seed, simulation.make, again ? silent : options);
    if (!again) total.add(result.tally);
    return {result.verdict, result.hash};
  });
  if (!arguments.plant.empty()) return report_plant(failure, arguments.seeds);
  if (failure) return report(*failure);
  total.events["seeds run twice"] = program.run_twice();
  print_summary(total, arguments.seeds, platform::posix::read_monotonic() - began);
  return 0;
}

}  // namespace

int run_program(const Simulation& simulation, int count, char** words) {
  SeedArguments arguments;
  if (const auto complaint = parse(count, words, arguments)) return usage(simulation, *complaint);
  const bool known = arguments.plant.empty() ||
                     std::ranges::find(simulation.plants, arguments.plant, &PlantInfo::name) !=
                         simulation.plants.end();
  if (!known) return usage(simulation, "no such plant: " + arguments.plant);
  return run(simulation, arguments);
}

}  // namespace ron::sim
