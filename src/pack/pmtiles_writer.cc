#include "pack/pmtiles_writer.h"

#include <algorithm>
#include <cassert>
#include <limits>
#include <utility>

#include "b3/hash.h"
#include "pack/compression.h"

namespace ron::pack {
namespace {

// Entries of a leaf, to begin with: what other writers of the format use.
constexpr std::size_t kLeafEntries = 4096;

PmtilesDirectories with_leaves(std::span<const PmtilesEntry> entries, std::size_t leaf_entries) {
  PmtilesDirectories out;
  std::vector<PmtilesEntry> root;
  while (!entries.empty()) {
    const auto leaf = entries.first(std::min(leaf_entries, entries.size()));
    const std::string bytes = gzip(base::as_bytes(encode_directory(leaf)));
    root.push_back({.tile_id = leaf.front().tile_id,
                    .offset = out.leaves.size(),
                    .length = static_cast<std::uint32_t>(bytes.size()),
                    .run_length = 0});
    out.leaves += bytes;
    entries = entries.subspan(leaf.size());
  }
  out.root = gzip(base::as_bytes(encode_directory(root)));
  return out;
}

}  // namespace

bool PmtilesPlan::add(std::uint64_t tile_id, base::ByteView tile) {
  assert(!tile.empty() && tile.size() <= std::numeric_limits<std::uint32_t>::max());
  assert(entries_.empty() || tile_id >= entries_.back().tile_id + entries_.back().run_length);
  const auto length = static_cast<std::uint32_t>(tile.size());
  const auto [known, is_new] = known_.try_emplace(b3::hash(tile), Known{data_bytes_, length});
  if (is_new) data_bytes_ += length;
  ++addressed_tiles_;
  if (!entries_.empty()) {
    PmtilesEntry& last = entries_.back();
    const bool continues = last.offset == known->second.offset &&
                           last.tile_id + last.run_length == tile_id &&
                           last.run_length < std::numeric_limits<std::uint32_t>::max();
    if (continues) {
      ++last.run_length;
      return is_new;
    }
  }
  entries_.push_back({tile_id, known->second.offset, length, 1});
  return is_new;
}

PmtilesDirectories build_directories(std::span<const PmtilesEntry> entries,
                                     std::uint64_t root_bytes) {
  // More than this cannot be squeezed into any root; to compress them all would be for nothing.
  constexpr std::size_t kHopeless = 16384;
  if (entries.size() < kHopeless) {
    std::string root = gzip(base::as_bytes(encode_directory(entries)));
    if (root.size() <= root_bytes) return {std::move(root), {}};
  }
  for (std::size_t leaf_entries = std::max(kLeafEntries, entries.size() / 3500);;
       leaf_entries += leaf_entries / 5) {
    PmtilesDirectories out = with_leaves(entries, leaf_entries);
    if (out.root.size() <= root_bytes || leaf_entries >= entries.size()) return out;
  }
}

std::string pmtiles_head(const PmtilesPlan& plan, PmtilesHeader header, std::string_view metadata) {
  assert(!plan.entries().empty());
  const auto directories = build_directories(plan.entries(), kPmtilesRootEnd - kPmtilesHeaderBytes);
  const std::string compressed = gzip(base::as_bytes(metadata));
  header.root = {kPmtilesHeaderBytes, directories.root.size()};
  header.metadata = {header.root.offset + header.root.length, compressed.size()};
  header.leaves = {header.metadata.offset + header.metadata.length, directories.leaves.size()};
  header.tile_data = {header.leaves.offset + header.leaves.length, plan.data_bytes()};
  header.addressed_tiles = plan.addressed_tiles();
  header.tile_entries = plan.entries().size();
  header.tile_contents = plan.contents();
  header.clustered = true;
  header.internal_compression = Compression::Gzip;
  return encode(header) + directories.root + compressed + directories.leaves;
}

}  // namespace ron::pack
