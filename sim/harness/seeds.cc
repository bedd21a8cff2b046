#include "sim/harness/seeds.h"

#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace ron::sim {
namespace {

constexpr std::uint64_t kCheckEvery = 10;  // seeds of which one is run twice, unless told otherwise
constexpr std::uint64_t kTellEvery = 100;

// For the handler of a crash: what to replay.
std::uint64_t running_seed = 0;
std::string running_replay;

unsigned long long plain(std::uint64_t value) { return value; }

extern "C" void on_crash(int signal) {
  std::fprintf(stderr, "\nseed %llu crashed; replay: %s%llu\n", plain(running_seed),
               running_replay.c_str(), plain(running_seed));
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string replay_prefix(std::string_view program, const std::string& plant) {
  std::string command(program);
  command += " --trace ";
  if (!plant.empty()) command += "--plant " + plant + " ";
  return command + "--seed ";
}

}  // namespace

std::optional<std::string> parse(int count, char** words, SeedArguments& out) {
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
      if (value.empty()) return "--plant needs a name";
      out.plant = value;
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

SeedProgram::SeedProgram(std::string_view name, SeedArguments arguments)
    : arguments_(std::move(arguments)), replay_(replay_prefix(name, arguments_.plant)) {
  running_replay = replay_;
  std::signal(SIGABRT, on_crash);
  std::signal(SIGSEGV, on_crash);
}

SeedFailure SeedProgram::failure(std::uint64_t seed, std::string why) const {
  return {seed, std::move(why), replay_ + std::to_string(seed)};
}

std::optional<SeedFailure> SeedProgram::run(const Run& run_seed) {
  for (std::uint64_t i = 0; i < arguments_.seeds; ++i) {
    const std::uint64_t seed = running_seed = arguments_.first_seed + i;
    const SeedResult result = run_seed(seed, false);
    if (result.verdict) return failure(seed, *result.verdict);
    const bool again = arguments_.check_all || (!arguments_.one_seed && i % kCheckEvery == 0);
    if (again) {
      if (run_seed(seed, true).hash != result.hash) return failure(seed, "two runs, two traces");
      ++run_twice_;
    }
    if (!arguments_.one_seed && (i + 1) % kTellEvery == 0) {
      std::printf("%llu seeds\n", plain(i + 1));
      std::fflush(stdout);
    }
    if (arguments_.one_seed) {
      std::printf("seed %llu: trace hash %016llx\n", plain(seed), plain(result.hash));
    }
  }
  return std::nullopt;
}

int report(const SeedFailure& failure) {
  std::printf("seed %llu FAILED: %s\nreplay: %s\n", plain(failure.seed), failure.why.c_str(),
              failure.replay.c_str());
  return 1;
}

}  // namespace ron::sim
