#include "sim/registry/plant.h"

#include <algorithm>
#include <array>

namespace ron::sim {
namespace {

constexpr std::array kPlants = {
#define RON_X(name, text, what) PlantInfo{text, what},
    RON_SIM_REGISTRY_PLANTS(RON_X)
#undef RON_X
};

}  // namespace

std::span<const PlantInfo> all_registry_plants() noexcept { return kPlants; }

std::optional<RegistryPlant> registry_plant_named(std::string_view name) noexcept {
  const auto found = std::ranges::find(kPlants, name, &PlantInfo::name);
  if (found == kPlants.end()) return std::nullopt;
  // The first is None.
  return static_cast<RegistryPlant>(1 + (found - kPlants.begin()));
}

}  // namespace ron::sim
