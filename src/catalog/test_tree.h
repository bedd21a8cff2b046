// Entries and whole manifests for tests.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <rapidcheck.h>

#include "b3/hash.h"
#include "catalog/manifest.h"

namespace ron::catalog::testing {

inline ManifestEntry file_at(std::string_view path, std::string_view content = "x") {
  return {.path = std::string(path),
          .what = TreeFile{.address = b3::hash(base::as_bytes(content)),
                           .length = content.size(),
                           .type = "text/plain"},
          .mtime_s = {}};
}
inline ManifestEntry link_at(std::string_view path, std::string_view target) {
  return {.path = std::string(path), .what = TreeLink{std::string(target)}, .mtime_s = {}};
}
inline ManifestEntry directory_at(std::string_view path) {
  return {.path = std::string(path), .what = TreeDirectory{}, .mtime_s = {}};
}

inline ManifestEntry any_entry(const std::string& path) {
  ManifestEntry entry = file_at(path, *rc::gen::arbitrary<std::string>());
  const int kind = *rc::gen::inRange(0, 4);
  if (kind == 0) entry = directory_at(path);
  if (kind == 1) entry = link_at(path, "some\\where \"else\"/é");
  if (kind == 2) std::get<TreeFile>(entry.what).exec = true;
  if (*rc::gen::arbitrary<bool>()) entry.mtime_s = *rc::gen::arbitrary<std::int32_t>();
  return entry;
}

// Inside rc::check. Paths from few segments, so that they meet, and of which one is the beginning
// of another.
inline Manifest any_manifest() {
  const auto segment = rc::gen::elementOf(
      std::vector<std::string>{"a", "a-", "a\"b", "a\\", "b", "é", "日本", "🎉 x", "A"});
  std::map<std::string, ManifestEntry> entries;
  const auto paths = *rc::gen::container<std::vector<std::vector<std::string>>>(
      rc::gen::nonEmpty(rc::gen::container<std::vector<std::string>>(segment)));
  for (const auto& segments : paths) {
    std::string path;
    for (const std::string& one : segments) path += (path.empty() ? "" : "/") + one;
    entries.emplace(path, any_entry(path));
  }
  Manifest manifest;
  ManifestRules rules;
  for (auto& [path, entry] : entries) {
    ManifestRules longer = rules;
    if (!longer.take(entry)) continue;  // below another
    rules = std::move(longer);
    manifest.entries.push_back(std::move(entry));
  }
  return manifest;
}

}  // namespace ron::catalog::testing
