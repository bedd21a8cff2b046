// What is different between two trees.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "catalog/manifest.h"

namespace ron::catalog {

// A path whose entry is not the same. Pointers into the two manifests; at least one is not null.
struct TreeChange {
  const ManifestEntry* before = nullptr;  // null: added
  const ManifestEntry* after = nullptr;   // null: removed

  [[nodiscard]] const std::string& path() const noexcept {
    return after != nullptr ? after->path : before->path;
  }
};

// In bytewise order of the paths; takes time proportional to both. Times alone are a difference
// only where both trees have one.
std::vector<TreeChange> diff(const Manifest& before, const Manifest& after);

}  // namespace ron::catalog
