// storage_sim: runs svc-storage in simulated worlds, seed after seed, until one goes wrong.
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "platform/posix/clock.h"
#include "sim/plant.h"
#include "sim/run.h"

namespace ron::sim {
namespace {

constexpr std::uint64_t kCheckEvery = 10;  // seeds of which one is run twice, unless told otherwise

struct Arguments {
  std::uint64_t first_seed = 1;
  std::uint64_t seeds = 500;
  bool one_seed = false;
  bool trace = false;
  bool trace_all = false;
  bool check_all = false;
  Plant plant = Plant::None;
  std::string_view plant_name;
};

// For the handler of a crash: what to replay.
std::uint64_t running_seed = 0;
std::string running_plant;

std::string replay_command(std::uint64_t seed) {
  std::string command = "storage_sim --seed " + std::to_string(seed) + " --trace";
  if (!running_plant.empty()) command += " --plant " + running_plant;
  return command;
}

extern "C" void on_crash(int signal) {
  std::fprintf(stderr, "\nseed %llu crashed; replay: %s\n",
               static_cast<unsigned long long>(running_seed), replay_command(running_seed).c_str());
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

int usage(std::string_view complaint) {
  std::fprintf(stderr, "storage_sim: %.*s\n", static_cast<int>(complaint.size()), complaint.data());
  std::fprintf(
      stderr,
      "usage: storage_sim [--seeds N] [--first-seed S] [--seed S] [--trace] [--trace-all]\n"
      "                   [--check-determinism] [--plant NAME]\nplants:\n");
  for (const PlantInfo& plant : all_plants()) {
    std::fprintf(stderr, "  %-14s %s\n", std::string(plant.name).c_str(),
                 std::string(plant.what).c_str());
  }
  return 2;
}

std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Nothing on success, else what is wrong.
std::optional<std::string> parse(int count, char** words, Arguments& out) {
  for (int i = 1; i < count; ++i) {
    const std::string_view word = words[i];
    const std::string_view value = i + 1 < count ? words[i + 1] : "";
    if (word == "--trace") {
      out.trace = true;
    } else if (word == "--trace-all") {
      out.trace = out.trace_all = true;
    } else if (word == "--check-determinism") {
      out.check_all = true;
    } else if (word == "--plant") {
      const auto plant = plant_named(value);
      if (!plant) return "no such plant: " + std::string(value);
      out.plant = *plant;
      out.plant_name = value;
      ++i;
    } else if (word == "--seeds" || word == "--first-seed" || word == "--seed") {
      const auto parsed = number(value);
      if (!parsed) return std::string(word) + " needs a number";
      (word == "--seeds" ? out.seeds : out.first_seed) = *parsed;
      if (word == "--seed") {
        out.one_seed = true;
        out.seeds = 1;
      }
      ++i;
    } else {
      return "unknown argument " + std::string(word);
    }
  }
  return std::nullopt;
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

int fail(std::uint64_t seed, const std::string& why) {
  std::printf("seed %llu FAILED: %s\nreplay: %s\n", static_cast<unsigned long long>(seed),
              why.c_str(), replay_command(seed).c_str());
  return 1;
}

int run(const Arguments& arguments) {
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
  for (std::uint64_t i = 0; i < arguments.seeds; ++i) {
    const std::uint64_t seed = running_seed = arguments.first_seed + i;
    const RunResult result = run_seed(seed, options);
    total.add(result.tally);
    if (result.verdict) return fail(seed, *result.verdict);
    const bool again = arguments.check_all || (!arguments.one_seed && i % kCheckEvery == 0);
    if (again) {
      const RunResult second = run_seed(seed, {.plant = arguments.plant, .print = {}});
      if (second.hash != result.hash) return fail(seed, "two runs, two traces");
      ++total.events["seeds run twice"];
    }
    if (!arguments.one_seed && (i + 1) % 100 == 0) {
      std::printf("%llu seeds\n", static_cast<unsigned long long>(i + 1));
      std::fflush(stdout);
    }
    if (arguments.one_seed) {
      std::printf("seed %llu: trace hash %016llx\n", static_cast<unsigned long long>(seed),
                  static_cast<unsigned long long>(result.hash));
    }
  }
  print_summary(total, arguments.seeds, platform::posix::read_monotonic() - began);
  return 0;
}

}  // namespace
}  // namespace ron::sim

int main(int count, char** words) {
  ron::sim::Arguments arguments;
  if (const auto complaint = ron::sim::parse(count, words, arguments)) {
    return ron::sim::usage(*complaint);
  }
  ron::sim::running_plant = arguments.plant_name;
  std::signal(SIGABRT, ron::sim::on_crash);
  std::signal(SIGSEGV, ron::sim::on_crash);
  return ron::sim::run(arguments);
}
