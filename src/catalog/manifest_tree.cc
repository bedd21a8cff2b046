#include "catalog/manifest_tree.h"

#include <algorithm>
#include <string>

namespace ron::catalog {

const ManifestEntry* find(const Manifest& manifest, std::string_view path) noexcept {
  const auto found = std::ranges::lower_bound(manifest.entries, path, {}, &ManifestEntry::path);
  return found != manifest.entries.end() && found->path == path ? &*found : nullptr;
}

std::span<const ManifestEntry> entries_below(const Manifest& manifest, std::string_view directory) {
  if (directory.empty()) return manifest.entries;
  // The paths that begin with `directory/` stand together.
  const std::string prefix = std::string(directory) + "/";
  const auto first = std::ranges::lower_bound(manifest.entries, prefix, {}, &ManifestEntry::path);
  const auto last = std::partition_point(
      first, manifest.entries.end(),
      [&](const ManifestEntry& entry) { return entry.path.starts_with(prefix); });
  return {first, last};
}

std::vector<TreeChild> children(const Manifest& manifest, std::string_view directory) {
  const std::size_t skipped = directory.empty() ? 0 : directory.size() + 1;
  std::vector<TreeChild> found;
  for (const ManifestEntry& entry : entries_below(manifest, directory)) {
    const std::string_view rest = std::string_view(entry.path).substr(skipped);
    const std::size_t slash = rest.find('/');
    const std::string_view name = rest.substr(0, slash);
    // Entries of one directory stand together, with nothing between them.
    if (found.empty() || found.back().name != name) found.push_back({.name = name});
    TreeChild& child = found.back();
    if (slash == std::string_view::npos) child.entry = &entry;
    ++child.entries;
    if (const TreeFile* file = entry.file()) child.length += file->length;
  }
  // `a-b` stands before `a/c` among the paths, and behind `a` among the names.
  std::ranges::sort(found, {}, &TreeChild::name);
  return found;
}

}  // namespace ron::catalog
