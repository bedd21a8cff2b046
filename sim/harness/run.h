// Runs one seed: builds its world, lets it happen, and says what was wrong.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "sim/harness/journal.h"
#include "sim/harness/subject.h"

namespace ron::sim {

struct RunOptions {
  std::string plant;       // the name of a planted bug; empty: none
  Journal::Print print{};  // the story; none: silent
  bool all_steps = false;  // print every step of the world too
};

struct RunResult {
  std::optional<std::string> verdict;  // none: all is well
  std::uint64_t hash = 0;              // of everything that happened
  Tally tally;
};

// What a seed is about, with this bug planted.
using MakeSubject =
    std::function<std::unique_ptr<Subject>(std::uint64_t seed, std::string_view plant)>;

RunResult run_seed(std::uint64_t seed, const MakeSubject& make, const RunOptions& options);

}  // namespace ron::sim
