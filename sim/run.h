// Runs one seed: builds its world, lets it happen, and says what was wrong.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sim/journal.h"
#include "sim/plant.h"

namespace ron::sim {

struct RunOptions {
  Plant plant = Plant::None;
  Journal::Print print{};  // the story; none: silent
  bool all_steps = false;  // print every step of the world too
};

struct RunResult {
  std::optional<std::string> verdict;  // none: all is well
  std::uint64_t hash = 0;              // of everything that happened
  Tally tally;
};

RunResult run_seed(std::uint64_t seed, const RunOptions& options);

}  // namespace ron::sim
