// Arbitrary text as a manifest: what is accepted prints to the same text, keeps the rules, leads
// nowhere else and is found again under its paths.
#include <cstdint>
#include <cstdlib>
#include <span>

#include "base/bytes.h"
#include "catalog/manifest.h"
#include "catalog/manifest_diff.h"
#include "catalog/manifest_tree.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace catalog = ron::catalog;
  const auto text = ron::base::as_text(std::as_bytes(std::span(data, size)));
  const auto manifest = catalog::parse_manifest(text);
  const auto summary = catalog::summarize_manifest(text);
  if (manifest.has_value() != summary.has_value()) std::abort();
  if (!manifest) return 0;
  if (catalog::print(*manifest) != text) std::abort();
  if (catalog::check(*manifest) != *summary) std::abort();
  for (const catalog::ManifestEntry& entry : manifest->entries) {
    if (entry.path.starts_with('/') || entry.path.starts_with("../") || entry.path == "..") {
      std::abort();
    }
    if (catalog::find(*manifest, entry.path) != &entry) std::abort();
    if (!catalog::entries_below(*manifest, entry.path).empty()) std::abort();
  }
  std::uint64_t entries = 0;
  for (const auto& child : catalog::children(*manifest, "")) entries += child.entries;
  if (entries != summary->entries) std::abort();
  if (!catalog::diff(*manifest, *manifest).empty()) std::abort();
  if (catalog::diff({}, *manifest).size() != summary->entries) std::abort();
  return 0;
}
