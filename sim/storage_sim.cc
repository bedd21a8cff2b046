// storage_sim: runs svc-storage in simulated worlds, seed after seed, until one goes wrong.
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

#include "platform/posix/clock.h"
#include "sim/plant.h"
#include "sim/run.h"
#include "sim/seeds.h"

namespace ron::sim {
namespace {

int usage(std::string_view complaint) {
  std::fprintf(stderr, "storage_sim: %.*s\n", static_cast<int>(complaint.size()), complaint.data());
  std::fprintf(stderr, "usage: storage_sim %s\nplants:\n", std::string(kSeedArguments).c_str());
  for (const PlantInfo& plant : all_plants()) {
    std::fprintf(stderr, "  %-14s %s\n", std::string(plant.name).c_str(),
                 std::string(plant.what).c_str());
  }
  return 2;
}

void print_counts(const char* title, const std::map<std::string, std::uint64_t>& counts) {
  std::printf("%s\n", title);
  for (const auto& [name, count] : counts) {
    std::printf("  %10llu  %s\n", static_cast<unsigned long long>(count), name.c_str());
  }
}

double seconds(base::Duration duration) { return static_cast<double>(duration.count()) / 1e9; }

void print_summary(const Tally& tally, std::uint64_t seeds, base::Duration wall) {
  print_counts("requests by outcome", tally.outcomes);
  print_counts("faults injected", tally.faults);
  print_counts("events", tally.events);
  const auto number = [](std::uint64_t value) { return static_cast<unsigned long long>(value); };
  std::printf("%llu seeds, %llu operations checked, %llu acknowledged objects (%llu read back)\n",
              number(seeds), number(tally.operations), number(tally.acknowledged),
              number(tally.acknowledged_and_read));
  std::printf("%.0f s of virtual time in %llu steps, %.1f s of wall time\n",
              seconds(tally.virtual_time), number(tally.steps), seconds(wall));
}

int run(const SeedArguments& arguments, Plant plant) {
  RunOptions options;
  options.plant = plant;
  options.all_steps = arguments.trace_all;
  if (arguments.trace) {
    options.print = [](std::string_view line) {
      std::printf("%.*s\n", static_cast<int>(line.size()), line.data());
    };
  }
  const platform::TimePoint began = platform::posix::read_monotonic();
  Tally total;
  SeedProgram program("storage_sim", arguments);
  const auto failure = program.run([&](std::uint64_t seed, bool again) -> SeedResult {
    const RunResult result =
        run_seed(seed, again ? RunOptions{.plant = plant, .print = {}} : options);
    if (!again) total.add(result.tally);
    return {result.verdict, result.hash};
  });
  if (failure) return report(*failure);
  total.events["seeds run twice"] = program.run_twice();
  print_summary(total, arguments.seeds, platform::posix::read_monotonic() - began);
  return 0;
}

}  // namespace
}  // namespace ron::sim

int main(int count, char** words) {
  using namespace ron::sim;
  SeedArguments arguments;
  if (const auto complaint = parse(count, words, arguments)) return usage(*complaint);
  std::optional<Plant> plant = Plant::None;
  if (!arguments.plant.empty()) plant = plant_named(arguments.plant);
  if (!plant) return usage("no such plant: " + arguments.plant);
  return run(arguments, *plant);
}
