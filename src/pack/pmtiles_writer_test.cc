#include "pack/pmtiles_writer.h"

#include "b3/sample_gen.h"
#include "pack/pmtiles_index.h"
#include "pack/test_support.h"
#include "pack/tile_id.h"

namespace ron::pack {
namespace {

using b3::samples::between;
using test::MemorySource;
using test::Tiles;

std::string bytes_at(MemorySource& source, const Section& place) {
  std::string out(static_cast<std::size_t>(place.length), '\0');
  EXPECT_TRUE(source.fill(place.offset, std::as_writable_bytes(std::span(out))).has_value());
  return out;
}

TEST(PmtilesWriter, WritesTheSameTileOnce) {
  PmtilesPlan plan;
  EXPECT_TRUE(plan.add(5, base::as_bytes("sea")));
  EXPECT_FALSE(plan.add(6, base::as_bytes("sea")));
  EXPECT_TRUE(plan.add(7, base::as_bytes("land")));
  EXPECT_FALSE(plan.add(8, base::as_bytes("sea")));
  const std::vector<PmtilesEntry> expected = {{5, 0, 3, 2}, {7, 3, 4, 1}, {8, 0, 3, 1}};
  EXPECT_EQ(plan.entries(), expected);
  EXPECT_EQ(plan.addressed_tiles(), 4U);
  EXPECT_EQ(plan.contents(), 2U);
  EXPECT_EQ(plan.data_bytes(), 7U);
}

TEST(PmtilesWriter, MakesLeavesWhenTheRootIsFull) {
  std::vector<PmtilesEntry> entries;
  std::uint64_t offset = 0;
  platform::FastRandom random(1);
  for (std::uint64_t id = 0; id < 60'000; id += 1 + random.below(3)) {
    const auto length = static_cast<std::uint32_t>(1 + random.below(30'000));
    entries.push_back({id, offset, length, 1});
    offset += length;
  }
  const auto made = build_directories(entries, 16'000);
  EXPECT_LE(made.root.size(), 16'000U);
  EXPECT_FALSE(made.leaves.empty());
  const auto small = build_directories(std::span(entries).first(100), 16'000);
  EXPECT_TRUE(small.leaves.empty());
}

// Runs, gaps, repeated contents, one or many directories: what comes out is what went in.
TEST(PmtilesWriter, IsReadBack) {
  EXPECT_TRUE(rc::check([] {
    platform::FastRandom random(*rc::gen::arbitrary<std::uint64_t>());
    const auto count = *between<std::uint64_t>(1, 400);
    const auto step = *between<std::uint64_t>(1, 5'000);
    Tiles tiles;
    std::uint64_t id = random.below(100);
    for (std::uint64_t i = 0; i < count; ++i) {
      // Half of them are neighbours and few are different, so that there are runs.
      tiles[id] = std::string(1 + random.below(5), static_cast<char>('a' + random.below(3)));
      id += random.below(2) == 0 ? 1 : 1 + random.below(step);
    }
    MemorySource source(test::pmtiles_of(tiles));
    const auto index = PmtilesIndex::load(source, {}, {});
    RC_ASSERT(index.has_value());
    RC_ASSERT(index->info().tiles == tiles.size());
    for (const auto& [at, bytes] : tiles) {
      const auto place = index->find(at);
      RC_ASSERT(place.has_value());
      RC_ASSERT(bytes_at(source, *place) == bytes);
      for (const std::uint64_t near : {at - 1, at + 1}) {
        RC_ASSERT(index->find(near).has_value() == tiles.contains(near));
      }
    }
  }));
}

TEST(PmtilesWriter, WithLeavesIsReadBack) {
  platform::FastRandom random(7);
  Tiles tiles;
  std::uint64_t id = 0;
  for (int i = 0; i < 40'000; ++i) {
    const std::uint64_t word = random.below(30'000);
    tiles[id] = std::to_string(word);
    id += 1 + random.below(3);
  }
  MemorySource source(test::pmtiles_of(tiles));
  const auto index = PmtilesIndex::load(source, {}, {});
  ASSERT_TRUE(index.has_value()) << index.error().message;
  EXPECT_GT(index->header().leaves.length, 0U);
  EXPECT_EQ(index->info().tiles, tiles.size());
  for (const auto& [at, bytes] : tiles) {
    const auto place = index->find(at);
    ASSERT_TRUE(place.has_value());
    EXPECT_EQ(bytes_at(source, *place), bytes);
  }
  EXPECT_FALSE(index->find(id + 1).has_value());
}

}  // namespace
}  // namespace ron::pack
