// What a seed of svc-registry decides beforehand, besides what every service's does: its signers,
// how its disk and its clock behave, and the settings that are the registry's own.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "auth/ed25519.h"
#include "sim/harness/plan.h"

namespace ron::sim {

// How the disk misbehaves while it is told to; see Mischief.
struct DiskTrouble {
  platform::sim::PerMillion fail_write = 0;
  platform::sim::PerMillion fail_sync = 0;
  bool fills_up = false;
};

struct RegistryPlan : Plan {
  static constexpr std::size_t kSigners = 4;    // of the genesis
  static constexpr std::size_t kKeys = 7;       // theirs, and of those who may become signers
  static constexpr std::size_t kThreshold = 2;  // of the genesis, and the least there ever is

  std::vector<auth::SigningKey> signers;  // kKeys
  bool rotates = false;                   // signers are changed and revoked
  DiskTrouble trouble;
  bool clock_jumps = false;
  std::uint64_t keep_versions = 0;  // 0: all
};

RegistryPlan make_registry_plan(std::uint64_t seed);

}  // namespace ron::sim
