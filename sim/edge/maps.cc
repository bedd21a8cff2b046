#include "sim/edge/maps.h"

#include <utility>

#include "b3/hash.h"
#include "base/bytes.h"
#include "pack/pmtiles_writer.h"
#include "pack/tile_id.h"
#include "sim/harness/server_node.h"
#include "volume/files.h"

namespace ron::sim {
namespace {

std::string tag_of(std::string_view bytes) { return b3::hash(base::as_bytes(bytes)).text(); }

}  // namespace

void Maps::enter(Scene& scene) {
  scene_ = &scene;
  replace();
  for (const Duration at : plan_.map_changes) {
    scene.world.after(at, [this] {
      if (!calm_) replace();
    });
  }
}

void Maps::calm_down() {
  calm_ = true;
  if (placed() == 0) replace();
}

// One at a time, and only on a machine that has power.
void Maps::replace() {
  const bool is_busy = writing_ != nullptr && !writing_->done();
  if (is_busy || scene_->server->is_dark()) return;
  versions_.push_back({.begun = scene_->world.now()});
  writing_ = std::make_unique<platform::test::Root>(scene_->server->node().core(),
                                                    write(versions_.size()));
}

Task<void> Maps::write(std::uint64_t version) {
  platform::Disk* const disk = &scene_->server->node().disk();
  base::Result<> done = co_await disk->make_directory(std::string(kMapDirectory));
  if (done) done = co_await disk->sync_directory("/");
  if (done) {
    done = co_await volume::replace_file(disk, std::string(kMapDirectory),
                                         std::string(kMapName) + ".pmtiles", file(version));
  }
  if (!done) co_return;
  versions_[version - 1].placed = scene_->world.now();
  ++scene_->journal.tally.events["packs put in place"];
  scene_->journal.note("operator", "version " + std::to_string(version) + " of the map is there");
}

std::string Maps::tile(std::uint64_t version, pack::Zxy at) {
  return "map " + std::to_string(version) + " tile " + std::to_string(at.z) + "/" +
         std::to_string(at.x) + "/" + std::to_string(at.y);
}

std::string Maps::file(std::uint64_t version) const {
  pack::PmtilesPlan tiles;
  std::string data;
  for (std::uint64_t id = 0; id < pack::first_tile_id(kMaxZoom + 1); ++id) {
    const std::string bytes = tile(version, *pack::tile_at(id));
    if (tiles.add(id, base::as_bytes(bytes))) data += bytes;
  }
  pack::PmtilesHeader header;
  header.tile_compression = pack::Compression::None;
  header.tile_type = pack::TileType::Mvt;
  header.max_zoom = kMaxZoom;
  header.max_lon_e7 = header.max_lat_e7 = 1;
  return pack::pmtiles_head(tiles, header, R"({"name":"map"})") + data;
}

std::optional<std::uint64_t> Maps::of_file(std::string_view tag) const {
  for (std::uint64_t i = 1; i <= versions_.size(); ++i) {
    if (tag_of(file(i)) == tag) return i;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> Maps::of_tile(std::string_view tag, pack::Zxy at) const {
  for (std::uint64_t i = 1; i <= versions_.size(); ++i) {
    if (tag_of(tile(i, at)) == tag) return i;
  }
  return std::nullopt;
}

std::uint64_t Maps::newest(TimePoint by) const {
  for (std::uint64_t i = versions_.size(); i > 0; --i) {
    if (versions_[i - 1].placed <= by) return i;
  }
  return 0;
}

}  // namespace ron::sim
