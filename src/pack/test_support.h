// For the tests of this folder: packs in memory, and a simulated machine to open them on.
#pragma once

#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "pack/compression.h"
#include "pack/pack.h"
#include "pack/pmtiles_writer.h"
#include "pack/test_memory_source.h"
#include "platform/sim/world.h"
#include "platform/test_support.h"

namespace ron::pack::test {

// Tile ids and what is there.
using Tiles = std::map<std::uint64_t, std::string>;

inline PmtilesHeader sample_header(std::uint8_t max_zoom = 31) {
  PmtilesHeader header;
  header.tile_type = TileType::Png;
  header.tile_compression = Compression::None;
  header.max_zoom = max_zoom;
  header.min_lon_e7 = -1'800'000'000;
  header.min_lat_e7 = -850'000'000;
  header.max_lon_e7 = 1'800'000'000;
  header.max_lat_e7 = 850'000'000;
  return header;
}

inline std::string pmtiles_of(const Tiles& tiles, PmtilesHeader header = sample_header(),
                              std::string_view metadata = R"({"name":"sample"})") {
  PmtilesPlan plan;
  std::string data;
  for (const auto& [id, bytes] : tiles) {
    if (plan.add(id, base::as_bytes(bytes))) data += bytes;
  }
  return pmtiles_head(plan, header, metadata) + data;
}

// A world with one machine, and files on it.
struct Machine {
  explicit Machine(std::uint64_t seed = 1) : world(seed, {}) {}

  void run(platform::Task<void> task) {
    const platform::test::Root root(node.core(), std::move(task));
    const auto outcome = world.run_until([&] { return root.done(); }, std::chrono::hours(1));
    if (outcome != platform::sim::Outcome::Done) throw std::runtime_error("it never gets done");
  }
  // In place of what is there, under the same name and in the same file.
  void write(const std::string& path, std::string_view bytes) {
    run(write_file(&node.disk(), path, 0, std::string(bytes), true));
  }
  // Some bytes of it.
  void change(const std::string& path, std::uint64_t offset, std::string_view bytes) {
    run(write_file(&node.disk(), path, offset, std::string(bytes), false));
  }
  base::Result<PackPtr> open(const std::string& path, Limits limits = {}) {
    base::Result<PackPtr> out;
    run(open_into(place(), path, limits, &out));
    return out;
  }
  base::Result<std::optional<Tile>> tile(const PackPtr& pack, Zxy at) {
    base::Result<std::optional<Tile>> out;
    run(tile_into(pack, at, &out));
    return out;
  }
  base::Result<base::Buffer> read(const PackPtr& pack, std::uint64_t offset, std::uint64_t length) {
    base::Result<base::Buffer> out;
    run(read_into(pack, offset, length, &out));
    return out;
  }
  Place place() { return {&node.disk(), &node.blocking()}; }

  platform::sim::World world;
  platform::sim::Node& node = world.add_node();

 private:
  static platform::Task<void> write_file(platform::Disk* disk, std::string path,
                                         std::uint64_t offset, std::string bytes, bool is_all) {
    auto file = co_await disk->open(path, {.mode = platform::OpenMode::CreateOrOpen});
    EXPECT_TRUE(file.has_value());
    if (is_all) {
      const auto cut = co_await (*file)->truncate(0);
      EXPECT_TRUE(cut.has_value());
    }
    base::Buffer buffer(bytes.size());
    std::memcpy(buffer.data(), bytes.data(), bytes.size());
    const auto written = co_await (*file)->write_at(offset, std::move(buffer));
    EXPECT_TRUE(written.has_value());
  }
  static platform::Task<void> open_into(Place place, std::string path, Limits limits,
                                        base::Result<PackPtr>* out) {
    *out = co_await pack::open(place, std::move(path), limits);
  }
  static platform::Task<void> tile_into(PackPtr pack, Zxy at,
                                        base::Result<std::optional<Tile>>* out) {
    *out = co_await pack->tile(at, runtime::Deadline::in(std::chrono::seconds(5)));
  }
  static platform::Task<void> read_into(PackPtr pack, std::uint64_t offset, std::uint64_t length,
                                        base::Result<base::Buffer>* out) {
    *out = co_await pack->read(offset, length, runtime::Deadline::in(std::chrono::seconds(5)));
  }
};

inline std::string text_of(const base::Result<std::optional<Tile>>& tile) {
  if (!tile) return "error: " + tile.error().message;
  if (!*tile) return "none";
  return std::string(base::as_text((*tile)->bytes.view()));
}

}  // namespace ron::pack::test
