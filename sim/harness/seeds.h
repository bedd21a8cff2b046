// What every simulation program has in common: its arguments, and the run over its seeds.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace ron::sim {

struct SeedArguments {
  std::uint64_t first_seed = 1;
  std::uint64_t seeds = 500;
  bool one_seed = false;
  bool trace = false;
  bool trace_all = false;
  bool check_all = false;
  std::string plant;  // empty: none
};
inline constexpr std::string_view kSeedArguments =
    "[--seeds N] [--first-seed S] [--seed S] [--trace] [--trace-all] [--check-determinism]"
    " [--plant NAME]";

// Nothing on success, else what is wrong. Whether there is such a plant is for the program to say.
std::optional<std::string> parse(int count, char** words, SeedArguments& out);

struct SeedResult {
  std::optional<std::string> verdict{};  // none: all is well
  std::uint64_t hash = 0;                // of everything that happened
};

struct SeedFailure {
  std::uint64_t seed = 0;
  std::string why;
  std::string replay;  // the command
};

class SeedProgram {
 public:
  SeedProgram(std::string_view name, SeedArguments arguments);

  // Runs one seed; the second time, to see that it does the same, it is not to print or count.
  using Run = std::function<SeedResult(std::uint64_t seed, bool again)>;
  // Seed after seed until one goes wrong; one in ten, or all, run twice. A crash prints the command
  // that replays it.
  std::optional<SeedFailure> run(const Run& run_seed);
  [[nodiscard]] std::uint64_t run_twice() const noexcept { return run_twice_; }

 private:
  [[nodiscard]] SeedFailure failure(std::uint64_t seed, std::string why) const;

  const SeedArguments arguments_;
  const std::string replay_;  // up to the seed
  std::uint64_t run_twice_ = 0;
};

// "seed 7 FAILED: why" and the command; the exit code.
int report(const SeedFailure& failure);

}  // namespace ron::sim
