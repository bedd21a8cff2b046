// Planted bugs: known mistakes, put between the registry and its disk, to see that the simulation
// finds them. Compiled into the simulation only.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "sim/harness/subject.h"

namespace ron::sim {

// X(name, text, what it does wrong)
#define RON_SIM_REGISTRY_PLANTS(X)                                           \
  X(SkipSync, "skip-sync", "acknowledges what it has not synced")            \
  X(LateSync, "late-sync", "answers first and syncs with the next batch")    \
  X(LostJournal, "lost-journal", "does not read the journal when it starts") \
  X(PruneTooMuch, "prune-too-much", "prunes a segment more than it may")     \
  X(NoGone, "no-gone", "makes checkpoints of commits that still wait in the journal")

enum class RegistryPlant : std::uint8_t {
  None,
#define RON_X(name, text, what) name,
  RON_SIM_REGISTRY_PLANTS(RON_X)
#undef RON_X
};

std::span<const PlantInfo> all_registry_plants() noexcept;
std::optional<RegistryPlant> registry_plant_named(std::string_view name) noexcept;

}  // namespace ron::sim
