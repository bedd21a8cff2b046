// Mount: a pack under a name, as it is served from when it was mounted until its last answer has
// ended.
//
// Immutable and shared. What is mounted anew under the same name is another mount with another
// generation: an answer keeps the one it began with and never mixes two.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "http/codecs.h"
#include "pack/pack.h"
#include "services/edge/config.h"
#include "services/kit/representation.h"

namespace ron::edge {

// Who said that it is to be mounted.
enum class MountSource : std::uint8_t {
  Configured,  // [[edge.packs]]
  Directory,   // it is in packs_dir
  Added        // POST /admin/packs; kept across restarts
};
std::string_view name(MountSource source) noexcept;

struct MountOrder {
  std::string name;
  std::string path;
  MissingTile missing = MissingTile::Inherited;
  MountSource source = MountSource::Configured;
  friend bool operator==(const MountOrder&, const MountOrder&) = default;
};

inline constexpr std::size_t kPackNameBytes = 64;
// Lower-case letters, digits, '.', '_' and '-', not beginning with a dot.
bool is_pack_name(std::string_view name) noexcept;

// What went wrong with the file of a pack, for whoever asks: without its directory, which is
// nobody's business. The log has all of it.
std::string without_directory(std::string text, std::string_view path);

// How long clients may use a tile without asking again: a pack may be replaced under its name, and
// asking again costs no bytes.
inline constexpr std::string_view kTileCaching = "public, max-age=300, must-revalidate";

struct Mount {
  Mount(MountOrder ordered, pack::PackPtr opened, std::uint64_t own_generation,
        platform::SendArena& arena);
  // The same mount with other options.
  Mount(MountOrder ordered, const Mount& other);

  // The header lines of a tile that is sent in this coding, its entity-tag excepted.
  [[nodiscard]] const std::string& tile_lines(bool is_encoded) const noexcept {
    return tile_lines_[is_encoded ? 1 : 0];
  }
  [[nodiscard]] const pack::Info& info() const noexcept { return pack->info(); }
  [[nodiscard]] base::Error public_error(base::Error error) const {
    error.message = without_directory(std::move(error.message), order.path);
    return error;
  }

  const MountOrder order;
  const pack::PackPtr pack;
  const std::uint64_t generation;  // of what the memory tier has of it
  const http::Coding coding;       // of its tiles as they are stored
  const std::string file_tag;      // of the whole file, without quotes
  const std::string file_lines;
  const std::string tilejson;  // its members, all but `tiles`: `"tilejson":"3.0.0",…`
  // Stands in the memory tier for every tile that the pack does not have.
  const kit::RepresentationPtr no_tile;

 private:
  std::array<std::string, 2> tile_lines_;
};
using MountPtr = std::shared_ptr<const Mount>;

}  // namespace ron::edge
