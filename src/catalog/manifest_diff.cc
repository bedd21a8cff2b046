#include "catalog/manifest_diff.h"

namespace ron::catalog {
namespace {

bool is_same(const ManifestEntry& before, const ManifestEntry& after) noexcept {
  const bool times_differ = before.mtime_s && after.mtime_s && *before.mtime_s != *after.mtime_s;
  return before.what == after.what && !times_differ;
}

}  // namespace

std::vector<TreeChange> diff(const Manifest& before, const Manifest& after) {
  std::vector<TreeChange> changes;
  auto old_one = before.entries.begin();
  auto new_one = after.entries.begin();
  while (old_one != before.entries.end() || new_one != after.entries.end()) {
    const bool only_old = new_one == after.entries.end() ||
                          (old_one != before.entries.end() && old_one->path < new_one->path);
    const bool only_new =
        !only_old && (old_one == before.entries.end() || new_one->path < old_one->path);
    if (only_old) {
      changes.push_back({.before = &*old_one++});
    } else if (only_new) {
      changes.push_back({.after = &*new_one++});
    } else {
      if (!is_same(*old_one, *new_one)) changes.push_back({&*old_one, &*new_one});
      ++old_one;
      ++new_one;
    }
  }
  return changes;
}

}  // namespace ron::catalog
