// Finding things in a manifest. Views and pointers live as long as the manifest.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "catalog/manifest.h"

namespace ron::catalog {

// The entry at exactly this path; null when there is none.
const ManifestEntry* find(const Manifest& manifest, std::string_view path) noexcept;

// All entries that stand below a directory; all there are for the empty path.
std::span<const ManifestEntry> entries_below(const Manifest& manifest, std::string_view directory);

// What a directory holds, as a listing has it: entries, and directories that have some.
struct TreeChild {
  std::string_view name;                 // a segment
  const ManifestEntry* entry = nullptr;  // null for a directory that is not empty
  std::uint64_t entries = 0;             // below it, itself included if it is one
  std::uint64_t length = 0;              // of the files among them
};
// Sorted by name, bytewise.
std::vector<TreeChild> children(const Manifest& manifest, std::string_view directory);

}  // namespace ron::catalog
