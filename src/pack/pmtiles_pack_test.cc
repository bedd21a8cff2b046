#include "pack/pmtiles_pack.h"

#include "b3/hash.h"
#include "b3/sample_bytes.h"
#include "pack/test_support.h"
#include "pack/tile_id.h"

namespace ron::pack {
namespace {

using test::Machine;
using test::pmtiles_of;
using test::text_of;
using test::Tiles;

std::string noise(std::size_t bytes, std::uint64_t seed) {
  return std::string(base::as_text(b3::samples::noise(bytes, seed)));
}

TEST(PmtilesPack, HandsOutTilesAndSaysWhatItIs) {
  Machine machine;
  const std::string bytes =
      pmtiles_of({{0, "world"}, {1, "north-west"}, {4, "north-east"}}, test::sample_header(1));
  machine.write("/a.pmtiles", bytes);
  const auto pack = machine.open("/a.pmtiles");
  ASSERT_TRUE(pack.has_value()) << pack.error().message;
  const Info& info = (*pack)->info();
  EXPECT_EQ(info.format, Format::Pmtiles);
  EXPECT_EQ(info.type, TileType::Png);
  EXPECT_EQ(info.max_zoom, 1);
  EXPECT_EQ(info.tiles, 3U);
  EXPECT_EQ(info.contents, 3U);
  EXPECT_EQ(info.bytes, bytes.size());
  EXPECT_EQ(info.hash, b3::hash(base::as_bytes(bytes)));
  EXPECT_EQ(info.metadata, R"({"name":"sample"})");
  EXPECT_DOUBLE_EQ(info.bounds.south, -85);
  EXPECT_GE(info.memory_bytes, 3 * 24U);
  EXPECT_EQ(text_of(machine.tile(*pack, {0, 0, 0})), "world");
  EXPECT_EQ(text_of(machine.tile(*pack, {1, 0, 0})), "north-west");
  EXPECT_EQ(text_of(machine.tile(*pack, {1, 1, 0})), "north-east");
  EXPECT_EQ(text_of(machine.tile(*pack, {1, 0, 1})), "none");
  EXPECT_EQ(text_of(machine.tile(*pack, {2, 0, 0})), "none");
  EXPECT_EQ(text_of(machine.tile(*pack, {0, 1, 0})), "none");
  EXPECT_EQ(text_of(machine.tile(*pack, {40, 0, 0})), "none");
}

TEST(PmtilesPack, ReadsTheFileItself) {
  Machine machine;
  const std::string bytes = pmtiles_of({{0, noise(300'000, 1)}});
  machine.write("/a.pmtiles", bytes);
  const auto pack = machine.open("/a.pmtiles");
  ASSERT_TRUE(pack.has_value());
  std::string all;
  while (all.size() < bytes.size()) {
    const auto some = machine.read(*pack, all.size(), bytes.size());
    ASSERT_TRUE(some.has_value());
    ASSERT_GT(some->size(), 0U);
    all += base::as_text(some->view());
  }
  EXPECT_TRUE(all == bytes);
  const auto middle = machine.read(*pack, 70'001, 7);
  ASSERT_TRUE(middle.has_value());
  EXPECT_EQ(base::as_text(middle->view()), bytes.substr(70'001, 7));
  const auto past = machine.read(*pack, bytes.size(), 1);
  ASSERT_FALSE(past.has_value());
  EXPECT_EQ(past.error().code, base::Code::RangeNotSatisfiable);
}

TEST(PmtilesPack, RefusesWhatIsNotWhatItWas) {
  Machine machine;
  const std::string before = pmtiles_of({{0, noise(200'000, 1)}, {1, noise(200'000, 2)}});
  machine.write("/a.pmtiles", before);
  const auto pack = machine.open("/a.pmtiles");
  ASSERT_TRUE(pack.has_value());
  std::string after = before;
  after[after.size() - 1] ^= 1;
  machine.write("/a.pmtiles", after);
  EXPECT_EQ(text_of(machine.tile(*pack, {0, 0, 0})), noise(200'000, 1));
  const auto changed = machine.tile(*pack, {1, 0, 0});
  ASSERT_FALSE(changed.has_value());
  EXPECT_EQ(changed.error().code, base::Code::IntegrityFail);
  machine.write("/a.pmtiles", before.substr(0, 1000));
  const auto cut = machine.tile(*pack, {0, 0, 0});
  ASSERT_FALSE(cut.has_value());
  EXPECT_EQ(cut.error().code, base::Code::IntegrityFail);
}

TEST(PmtilesPack, OfOneGroupIsCheckedAsWell) {
  Machine machine;
  std::string bytes = pmtiles_of({{0, "world"}});
  machine.write("/a.pmtiles", bytes);
  const auto pack = machine.open("/a.pmtiles");
  ASSERT_TRUE(pack.has_value());
  bytes.back() ^= 1;
  machine.write("/a.pmtiles", bytes);
  const auto changed = machine.tile(*pack, {0, 0, 0});
  ASSERT_FALSE(changed.has_value());
  EXPECT_EQ(changed.error().code, base::Code::IntegrityFail);
}

TEST(Pack, SaysWhichFileIsNone) {
  Machine machine;
  machine.write("/a", "hello");
  const auto text = machine.open("/a");
  ASSERT_FALSE(text.has_value());
  EXPECT_EQ(text.error().code, base::Code::Malformed);
  EXPECT_EQ(text.error().message, "/a: it is neither PMTiles nor MBTiles: it begins as neither");
  machine.write("/empty", "");
  EXPECT_EQ(machine.open("/empty").error().message, "/empty: the file is empty");
  EXPECT_EQ(machine.open("/nowhere").error().code, base::Code::NotFound);
}

}  // namespace
}  // namespace ron::pack
