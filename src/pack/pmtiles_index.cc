#include "pack/pmtiles_index.h"

#include <algorithm>
#include <utility>

#include "pack/compression.h"
#include "pack/metadata.h"
#include "pack/tile_id.h"

namespace ron::pack {
namespace {

using base::Code;
using base::Result;

std::unexpected<base::Error> malformed(std::string why) {
  return base::fail(Code::Malformed, std::move(why));
}

// `what` of the file, decompressed.
Result<std::string> read_section(Source& source, Section section, Compression compression,
                                 std::uint64_t cap_bytes, std::string_view what) {
  // What is stored is not longer than what comes of it, but for a few bytes.
  constexpr std::uint64_t kCompressionOverhead = 4096;
  if (section.length > cap_bytes + kCompressionOverhead) {
    return malformed(std::string(what) + " is longer than the limit of " +
                     std::to_string(cap_bytes) + " bytes");
  }
  std::string stored(static_cast<std::size_t>(section.length), '\0');
  auto read = source.fill(section.offset, std::as_writable_bytes(std::span(stored)));
  if (!read) return base::fail(std::move(read.error()));
  return decompress(base::as_bytes(stored), compression, cap_bytes, what);
}

}  // namespace

// Goes through the directories in the order of their tiles.
class PmtilesIndex::Walk {
 public:
  Walk(PmtilesIndex& index, Source& source, const Limits& limits,
       const base::StopToken& stop) noexcept
      : index_(index),
        source_(source),
        limits_(limits),
        stop_(stop),
        most_entries_(std::min(limits.entries, most_entries(index.header_.root.length +
                                                            index.header_.leaves.length))) {}

  Result<void> directory(Section section, unsigned depth, std::uint64_t from) {
    if (stop_.requested()) return base::fail(stop_.error());
    const std::string what =
        depth == 0 ? "the root directory" : "the leaf directory of tile " + std::to_string(from);
    auto bytes = read_section(source_, section, index_.header_.internal_compression,
                              limits_.directory_bytes, what);
    if (!bytes) return base::fail(std::move(bytes.error()));
    auto entries = parse_directory(base::as_bytes(*bytes), most_entries_ - seen_);
    if (!entries) {
      if (entries.error().code != Code::Malformed) return base::fail(std::move(entries.error()));
      return malformed(what + ": " + entries.error().message);
    }
    bytes->clear();
    bytes->shrink_to_fit();
    seen_ += entries->size();
    if (entries->front().tile_id < from) return malformed(what + " begins before that tile");
    for (const PmtilesEntry& entry : *entries) {
      if (entry.tile_id < next_) {
        return malformed(what + ": tile " + std::to_string(entry.tile_id) +
                         " is in another directory already");
      }
      auto taken = entry.run_length == 0 ? leaf(entry, depth) : tiles(entry);
      if (!taken) return taken;
    }
    return {};
  }

 private:
  Result<void> leaf(const PmtilesEntry& entry, unsigned depth) {
    const Section& leaves = index_.header_.leaves;
    if (entry.offset > leaves.length || entry.length > leaves.length - entry.offset) {
      return malformed("the leaf directory of tile " + std::to_string(entry.tile_id) +
                       " is not within the leaf directories");
    }
    if (depth == kMaxDepth) {
      return malformed("directories lie more than 3 deep below the root");
    }
    // One that is read twice, or in parts by two, would let a small file take very long.
    leaf_bytes_ += entry.length;
    if (leaf_bytes_ > leaves.length) return malformed("the leaf directories overlap");
    return directory({leaves.offset + entry.offset, entry.length}, depth + 1, entry.tile_id);
  }

  Result<void> tiles(const PmtilesEntry& entry) {
    const PmtilesHeader& header = index_.header_;
    const auto named = [&entry] { return "tile " + std::to_string(entry.tile_id); };
    if (entry.offset > header.tile_data.length ||
        entry.length > header.tile_data.length - entry.offset) {
      return malformed(named() + " is not within the tile data");
    }
    if (entry.length > limits_.tile_bytes) {
      return malformed(named() + " has " + std::to_string(entry.length) +
                       " bytes, more than the limit of " + std::to_string(limits_.tile_bytes));
    }
    const std::uint64_t last = entry.tile_id + entry.run_length - 1;
    if (zoom_of(entry.tile_id) < header.min_zoom || zoom_of(last) > header.max_zoom) {
      return malformed(named() + " is at a zoom that the header excludes");
    }
    if (header.clustered) {
      // New bytes follow those before; anything else was there already.
      if (entry.offset > data_end_) {
        return malformed(named() + " leaves a gap in data that is said to be clustered");
      }
      if (entry.offset == data_end_) data_end_ += entry.length;
    }
    index_.ids_.push_back(entry.tile_id);
    index_.places_.push_back({entry.offset, entry.length, entry.run_length});
    index_.addressed_tiles_ += entry.run_length;
    next_ = last + 1;
    return {};
  }

  PmtilesIndex& index_;
  Source& source_;
  const Limits& limits_;
  const base::StopToken& stop_;
  const std::uint64_t most_entries_;
  std::uint64_t leaf_bytes_ = 0;  // stored, of all leaves so far
  std::uint64_t seen_ = 0;        // entries, those of leaves included
  std::uint64_t next_ = 0;        // the first tile that may come now
  std::uint64_t data_end_ = 0;    // of tile data, as far as it was used
};

Result<PmtilesIndex> PmtilesIndex::load(Source& source, const Limits& limits,
                                        const base::StopToken& stop) {
  std::array<std::byte, kPmtilesHeaderBytes> first{};
  const auto head = std::span(first).first(std::min<std::size_t>(first.size(), source.size()));
  auto read = source.fill(0, head);
  if (!read) return base::fail(std::move(read.error()));
  const auto header = parse_pmtiles_header(head);
  if (!header) return base::fail(header.error());
  auto sound = check(*header, source.size());
  if (!sound) return base::fail(std::move(sound.error()));
  PmtilesIndex index;
  index.header_ = *header;
  index.file_bytes_ = source.size();
  auto metadata = read_section(source, header->metadata, header->internal_compression,
                               limits.metadata_bytes, "the metadata");
  if (!metadata) return base::fail(std::move(metadata.error()));
  if (!is_json_object(*metadata)) return malformed("the metadata is not a JSON object");
  index.metadata_ = std::move(*metadata);
  Walk walk(index, source, limits, stop);
  auto walked = walk.directory(header->root, 0, 0);
  if (!walked) return base::fail(std::move(walked.error()));
  index.ids_.shrink_to_fit();
  index.places_.shrink_to_fit();
  index.contents_ = index.count_contents();
  auto counted = index.check_counts();
  if (!counted) return base::fail(std::move(counted.error()));
  return index;
}

std::uint64_t PmtilesIndex::count_contents() const {
  std::vector<std::uint64_t> offsets;
  offsets.reserve(places_.size());
  for (const Place& place : places_) offsets.push_back(place.offset);
  // Clustered data is nearly sorted already.
  if (!std::ranges::is_sorted(offsets)) std::ranges::sort(offsets);
  return static_cast<std::uint64_t>(std::ranges::unique(offsets).begin() - offsets.begin());
}

Result<void> PmtilesIndex::check_counts() {
  struct Count {
    std::string_view name;
    std::uint64_t said;
    std::uint64_t found;
  };
  for (const auto& [name, said, found] :
       {Count{"addressed tiles", header_.addressed_tiles, addressed_tiles_},
        Count{"tile entries", header_.tile_entries, ids_.size()},
        Count{"tile contents", header_.tile_contents, contents_}}) {
    if (said == 0 || said == found) continue;
    return malformed("the header says " + std::to_string(said) + " " + std::string(name) +
                     ", and there are " + std::to_string(found));
  }
  return {};
}

Info PmtilesIndex::info() const {
  constexpr double kDegree = 10'000'000;
  Info info;
  info.format = Format::Pmtiles;
  info.type = header_.tile_type;
  info.compression = header_.tile_compression;
  info.min_zoom = header_.min_zoom;
  info.max_zoom = header_.max_zoom;
  info.bounds = {header_.min_lon_e7 / kDegree, header_.min_lat_e7 / kDegree,
                 header_.max_lon_e7 / kDegree, header_.max_lat_e7 / kDegree};
  info.center_lon = header_.center_lon_e7 / kDegree;
  info.center_lat = header_.center_lat_e7 / kDegree;
  info.center_zoom = header_.center_zoom;
  info.metadata = metadata_;
  info.tiles = addressed_tiles_;
  info.contents = contents_;
  info.bytes = file_bytes_;
  return info;
}

std::optional<Section> PmtilesIndex::find(std::uint64_t tile_id) const noexcept {
  const auto behind = std::ranges::upper_bound(ids_, tile_id);
  if (behind == ids_.begin()) return std::nullopt;
  const auto at = static_cast<std::size_t>(behind - ids_.begin()) - 1;
  const Place& place = places_[at];
  if (tile_id - ids_[at] >= place.run_length) return std::nullopt;
  return Section{header_.tile_data.offset + place.offset, place.length};
}

}  // namespace ron::pack
