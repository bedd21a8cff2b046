// PMTiles that are wrong in one way each, and the reason each is refused for.
#include <functional>

#include <gmock/gmock.h>
#include <zstd.h>

#include "pack/pmtiles_index.h"
#include "pack/test_support.h"
#include "pack/tile_id.h"

namespace ron::pack {
namespace {

using test::MemorySource;

// A sound file in parts, so that a case can spoil one of them. Two tiles in the root, two in a
// leaf.
struct Parts {
  PmtilesHeader header = test::sample_header(12);
  std::vector<PmtilesEntry> root = {{0, 0, 3, 1}, {1, 3, 4, 2}, {5, 0, 0, 0}};
  std::vector<PmtilesEntry> leaf = {{5, 7, 4, 1}, {6, 0, 3, 1}};
  std::string root_bytes{};  // in place of the root, not compressed
  std::string leaf_bytes{};
  std::string metadata = R"({"name":"sample"})";
  std::string data = "sealandmore";
  std::function<std::string(std::string)> pack = [](const std::string& bytes) {
    return gzip(base::as_bytes(bytes));
  };
  std::function<void(std::string&)> spoil_root = [](std::string&) {};
  std::function<void(std::string&)> spoil_metadata = [](std::string&) {};
  std::function<void(std::string&)> spoil_leaf = [](std::string&) {};
  std::function<void(PmtilesHeader&)> spoil_header = [](PmtilesHeader&) {};
  std::function<void(std::string&)> spoil_file = [](std::string&) {};

  [[nodiscard]] std::string file() {
    std::string leaves = pack(leaf_bytes.empty() ? encode_directory(leaf) : leaf_bytes);
    spoil_leaf(leaves);
    if (root.size() == 3 && root[2].length == 0) {
      root[2].length = static_cast<std::uint32_t>(leaves.size());
    }
    std::string first = pack(root_bytes.empty() ? encode_directory(root) : root_bytes);
    spoil_root(first);
    std::string json = pack(metadata);
    spoil_metadata(json);
    header.root = {kPmtilesHeaderBytes, first.size()};
    header.metadata = {header.root.offset + first.size(), json.size()};
    header.leaves = {header.metadata.offset + json.size(), leaves.size()};
    header.tile_data = {header.leaves.offset + leaves.size(), data.size()};
    header.internal_compression = Compression::Gzip;
    spoil_header(header);
    std::string out = encode(header) + first + json + leaves + data;
    spoil_file(out);
    return out;
  }
};

struct Case {
  const char* name;
  const char* reason;
  std::function<void(Parts&)> spoil;
};

// GoogleTest would print the bytes of it.
void PrintTo(const Case& test, std::ostream* out) { *out << test.name; }

std::string varints(std::initializer_list<std::uint64_t> numbers) {
  std::string out;
  for (std::uint64_t number : numbers) {
    for (; number >= 0x80; number >>= 7U) out.push_back(static_cast<char>(number | 0x80U));
    out.push_back(static_cast<char>(number));
  }
  return out;
}

// A case of the header after everything has its place.
Case in_header(const char* name, const char* reason, void (*spoil)(PmtilesHeader&)) {
  return {name, reason, [spoil](Parts& parts) { parts.spoil_header = spoil; }};
}
// A case of one byte of the header.
Case in_byte(const char* name, const char* reason, std::size_t at, std::uint8_t value) {
  return {name, reason, [at, value](Parts& parts) {
            parts.spoil_file = [at, value](std::string& file) {
              file[at] = static_cast<char>(value);
            };
          }};
}
// A case of the root directory before it is compressed.
Case in_root(const char* name, const char* reason, std::string bytes) {
  return {name, reason, [bytes](Parts& parts) { parts.root_bytes = bytes; }};
}

std::string zstd(const std::string& bytes) {
  std::string out(ZSTD_compressBound(bytes.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), bytes.data(), bytes.size(), 3));
  return out;
}

constexpr std::uint64_t kHuge = UINT64_MAX;
constexpr std::int32_t kDegree = 10'000'000;

std::vector<Case> header_cases() {
  using H = PmtilesHeader;
  return {
      {"OtherMagic", "does not begin as PMTiles",
       [](Parts& p) { p.spoil_file = [](std::string& f) { f[0] = 'Q'; }; }},
      {"NothingButTheMagic", "ends within the header: 7 of 127",
       [](Parts& p) { p.spoil_file = [](std::string& f) { f.resize(7); }; }},
      {"OneByteShort", "ends within the header: 126 of 127",
       [](Parts& p) { p.spoil_file = [](std::string& f) { f.resize(126); }; }},
      in_byte("VersionTwo", "PMTiles version 2", 7, 2),
      in_byte("VersionFour", "PMTiles version 4", 7, 4),
      in_byte("ClusteredTwo", "clustered is neither", 96, 2),
      in_byte("UnknownInternalCompression", "no internal compression 0", 97, 0),
      in_byte("InternalCompressionFive", "no internal compression 5", 97, 5),
      in_byte("TileCompressionFive", "no tile compression 5", 98, 5),
      in_byte("TileTypeSeven", "no tile type 7", 99, 7),
      in_header("RootPastTheEnd", "the root directory reaches past the end of the file",
                [](H& h) { h.root.length = 1 << 20; }),
      in_header("RootWrapsAround", "the root directory reaches past the end of the file",
                [](H& h) { h.root = {kHuge, 2}; }),
      in_header("RootOfAllBytes", "the root directory reaches past the end of the file",
                [](H& h) { h.root.length = kHuge; }),
      in_header("NoRoot", "there is no root directory", [](H& h) { h.root.length = 0; }),
      in_header("RootInTheHeader", "the header and the root directory overlap",
                [](H& h) { h.root.offset = 100; }),
      {"RootTooFar", "not within the first 16384 bytes",
       [](Parts& p) {
         p.spoil_header = [](H& h) { h.root = {20'000, 30}; };
         p.spoil_file = [](std::string& f) { f.resize(30'000); };
       }},
      in_header("MetadataPastTheEnd", "the metadata reaches past the end",
                [](H& h) { h.metadata.length += 1 << 20; }),
      in_header("MetadataWrapsAround", "the metadata reaches past the end",
                [](H& h) { h.metadata.offset = kHuge - 1; }),
      in_header("NoMetadata", "there is no metadata", [](H& h) { h.metadata.length = 0; }),
      in_header("MetadataInTheRoot", "the root directory and the metadata overlap",
                [](H& h) { --h.metadata.offset; }),
      in_header("LeavesPastTheEnd", "the leaf directories reaches past the end",
                [](H& h) { h.leaves.offset = 1 << 30; }),
      in_header("LeavesInTheTiles", "the leaf directories and the tile data overlap",
                [](H& h) { ++h.leaves.length; }),
      in_header("TilesPastTheEnd", "the tile data reaches past the end",
                [](H& h) { ++h.tile_data.length; }),
      in_header("TilesWrapAround", "the tile data reaches past the end",
                [](H& h) { h.tile_data.length = kHuge; }),
      in_header("TilesInTheMetadata", "overlap",
                [](H& h) { h.tile_data.offset = h.metadata.offset; }),
      in_header("ZoomsTheWrongWayRound", "the smallest zoom, 13, is above the largest, 12",
                [](H& h) { h.min_zoom = 13; }),
      in_header("ZoomThirtyTwo", "the largest zoom is 32", [](H& h) { h.max_zoom = 32; }),
      in_header("CentreZoom", "the centre's zoom is 77", [](H& h) { h.center_zoom = 77; }),
      in_header("LongitudeTooLarge", "the bounds are not on the globe",
                [](H& h) { h.max_lon_e7 = 180 * kDegree + 1; }),
      in_header("LatitudeTooSmall", "the bounds are not on the globe",
                [](H& h) { h.min_lat_e7 = INT32_MIN; }),
      in_header("EastBeforeWest", "the bounds are the wrong way round",
                [](H& h) { std::swap(h.min_lon_e7, h.max_lon_e7); }),
      in_header("NorthBelowSouth", "the bounds are the wrong way round",
                [](H& h) { std::swap(h.min_lat_e7, h.max_lat_e7); }),
      in_header("CentreInSpace", "the centre is not on the globe",
                [](H& h) { h.center_lat_e7 = 91 * kDegree; }),
      in_header("WrongTiles", "the header says 4 addressed tiles, and there are 5",
                [](H& h) { h.addressed_tiles = 4; }),
      in_header("WrongEntries", "the header says 9 tile entries, and there are 4",
                [](H& h) { h.tile_entries = 9; }),
      in_header("WrongContents", "the header says 4 tile contents, and there are 3",
                [](H& h) { h.tile_contents = 4; }),
      in_header("TileAboveTheZooms", "at a zoom that the header excludes",
                [](H& h) { h.min_zoom = 1; }),
      in_header("TileBelowTheZooms", "at a zoom that the header excludes",
                [](H& h) { h.max_zoom = 1; }),
  };
}

std::vector<Case> metadata_cases() {
  return {
      {"MetadataIsText", "the metadata is not a JSON object",
       [](Parts& p) { p.metadata = "name: sample"; }},
      {"MetadataIsAnArray", "the metadata is not a JSON object",
       [](Parts& p) { p.metadata = "[]"; }},
      {"MetadataIsTwo", "the metadata is not a JSON object", [](Parts& p) { p.metadata = "{}{}"; }},
      {"MetadataEndsEarly", "the metadata is not a JSON object",
       [](Parts& p) { p.metadata = R"({"name":)"; }},
      {"MetadataIsNotUtf8", "the metadata is not a JSON object",
       [](Parts& p) { p.metadata = "{\"name\":\"\xff\"}"; }},
      {"MetadataIsDeep", "the metadata is not a JSON object",
       [](Parts& p) {
         p.metadata = R"({"a":)" + std::string(5000, '[') + std::string(5000, ']') + "}";
       }},
      {"MetadataIsABomb", "the metadata has more than 65536 bytes when decompressed",
       [](Parts& p) { p.metadata = "{\"a\":\"" + std::string(1 << 20, 'a') + "\"}"; }},
      {"MetadataIsNotCompressed", "the metadata cannot be decompressed",
       [](Parts& p) { p.spoil_metadata = [](std::string& json) { json = "{}"; }; }},
      {"MetadataIsCut", "the metadata cannot be decompressed",
       [](Parts& p) {
         p.spoil_metadata = [](std::string& json) { json.resize(json.size() - 3); };
       }},
  };
}

std::vector<Case> root_cases() {
  return {
      {"RootIsNoise", "the root directory cannot be decompressed",
       [](Parts& p) { p.spoil_root = [](std::string& root) { root[0] ^= 1; }; }},
      {"RootHasABadChecksum", "the root directory cannot be decompressed",
       [](Parts& p) { p.spoil_root = [](std::string& root) { root[root.size() - 6] ^= 1; }; }},
      {"RootIsCut", "the root directory cannot be decompressed",
       [](Parts& p) { p.spoil_root = [](std::string& root) { root.resize(12); }; }},
      {"SomethingFollowsTheRoot", "the root directory cannot be decompressed",
       [](Parts& p) { p.spoil_root = [](std::string& root) { root += "more"; }; }},
      in_root("RootIsABomb", "the root directory has more than 65536 bytes",
              std::string(1 << 20, '\0')),
      {"RootIsZstdByTheHeader", "cannot be decompressed",
       [](Parts& p) {
         p.spoil_header = [](PmtilesHeader& h) { h.internal_compression = Compression::Zstd; };
       }},
      {"RootIsBrotliByTheHeader", "cannot be decompressed",
       [](Parts& p) {
         p.spoil_header = [](PmtilesHeader& h) { h.internal_compression = Compression::Brotli; };
       }},
      in_root("RootWithoutEntries", "the root directory: it has no entries", varints({0})),
      in_root("MoreEntriesThanBytes", "it has fewer entries than it says", varints({1000, 1, 1})),
      in_root("EndlessEntries", "it has fewer entries than it says", varints({kHuge, 1, 1, 1, 1})),
      in_root("MoreEntriesThanAllowed", "it has 200 entries, and of the limit 100 are left",
              varints({200}) + std::string(800, '\1')),
      in_root("NumberOfElevenBytes", "a number has more than 64 bits", std::string(11, '\x80')),
      in_root("NumberOf65Bits", "a number has more than 64 bits",
              varints({1}) + std::string(9, '\xff') + "\x02\x01\x01\x01"),
      in_root("EndsInANumber", "it ends too early", varints({1, 0, 1}) + "\x80\x80"),
      in_root("EndsEarly", "it ends too early", varints({1, 0, 300, 300})),
      in_root("SomethingFollows", "something follows its last entry", varints({1, 0, 1, 3, 1, 9})),
      in_root("FirstOffsetContinues", "the first offset continues an entry",
              varints({1, 0, 1, 3, 0})),
      in_root("OffsetWrapsAround", "an offset has more than 64 bits", varints({1, 0, 1, 3, kHuge})),
      in_root("RunOf33Bits", "a length has more than 32 bits",
              varints({1, 0, std::uint64_t{1} << 32U, 3, 1})),
      in_root("LengthOf33Bits", "a length has more than 32 bits",
              varints({1, 0, 1, std::uint64_t{1} << 32U, 1})),
      in_root("NoBytes", "an entry has no bytes", varints({1, 0, 1, 0, 1})),
      in_root("SameTileTwice", "entries overlap", varints({2, 0, 0, 1, 1, 3, 3, 1, 1})),
      in_root("RunsIntoTheNext", "entries overlap", varints({2, 0, 2, 3, 1, 3, 3, 1, 1})),
      in_root("PastTheLastZoom", "past the last tile of zoom 31",
              varints({1, first_tile_id(kMaxZoom + 1), 1, 3, 1})),
      in_root("RunsPastTheLastZoom", "past the last tile of zoom 31",
              varints({1, first_tile_id(kMaxZoom + 1) - 1, 2, 3, 1})),
      in_root("IdsWrapAround", "past the last tile of zoom 31",
              varints({2, 5, kHuge, 1, 1, 3, 3, 1, 1})),
  };
}

std::vector<Case> tile_cases() {
  return {
      {"TileStartsPastTheData", "tile 0 is not within the tile data",
       [](Parts& p) { p.root[0].offset = 12; }},
      {"TileEndsPastTheData", "tile 1 is not within the tile data",
       [](Parts& p) { p.root[1].length = 9; }},
      {"TileFarAway", "tile 1 is not within the tile data",
       [](Parts& p) { p.root[1].offset = kHuge - 10; }},
      {"TileTooLarge", "tile 0 has 2000 bytes, more than the limit of 1000",
       [](Parts& p) {
         p.data.resize(5000);
         p.root[0].length = 2000;
       }},
      {"GapInClusteredData", "tile 1 leaves a gap in data that is said to be clustered",
       [](Parts& p) {
         p.header.clustered = true;
         ++p.root[1].offset;
       }},
      {"LeafPastTheLeaves", "the leaf directory of tile 5 is not within the leaf directories",
       [](Parts& p) { p.root[2].length = 4000; }},
      {"LeafFarAway", "the leaf directory of tile 5 is not within the leaf directories",
       [](Parts& p) { p.root[2].offset = kHuge - 4000; }},
      {"LeafIsNoise", "the leaf directory of tile 5 cannot be decompressed",
       [](Parts& p) { p.spoil_leaf = [](std::string& leaf) { leaf[0] ^= 1; }; }},
      {"LeafWithoutEntries", "the leaf directory of tile 5: it has no entries",
       [](Parts& p) { p.leaf_bytes = varints({0}); }},
      {"LeafBeginsTooEarly", "the leaf directory of tile 5 begins before that tile",
       [](Parts& p) { p.leaf[0].tile_id = 4; }},
      {"LeafLeadsToItself", "directories lie more than 3 deep below the root",
       [](Parts& p) {
         p.leaf = {{5, 0, 1, 0}};
         // Its own length is in it: found by trying.
         for (std::uint32_t length = 1; length < 100; ++length) {
           p.leaf[0].length = length;
           if (gzip(base::as_bytes(encode_directory(p.leaf))).size() == length) break;
         }
         p.root[2].length = p.leaf[0].length;
         p.spoil_leaf = [](std::string& leaf) { leaf.resize(1000); };
       }},
      {"TwoLeavesOfTheSameTiles", "is in another directory already",
       [](Parts& p) {
         const auto length =
             static_cast<std::uint32_t>(gzip(base::as_bytes(encode_directory(p.leaf))).size());
         p.root = {{4, 0, length, 0}, {5, 0, length, 0}};
         p.spoil_leaf = [](std::string& leaf) { leaf.resize(1000); };
       }},
      {"LeafWithinALeaf", "the leaf directories overlap",
       [](Parts& p) {
         p.pack = zstd;
         p.spoil_header = [](PmtilesHeader& h) { h.internal_compression = Compression::Zstd; };
         // The first skips what the second is, which can be done any number of times.
         const std::string second = zstd(encode_directory({{{9, 0, 3, 1}}}));
         const std::string skip =
             "\x50\x2a\x4d\x18" + std::string(1, char(second.size())) + std::string(3, '\0');
         const std::string both = zstd(encode_directory(p.leaf)) + skip + second;
         p.spoil_leaf = [both](std::string& leaf) { leaf = both; };
         const auto all = static_cast<std::uint32_t>(both.size());
         const auto last = static_cast<std::uint32_t>(second.size());
         p.root = {{0, 0, 3, 1}, {5, 0, all, 0}, {9, all - last, last, 0}};
       }},
      {"TileBehindALeafThatHasIt", "is in another directory already",
       [](Parts& p) {
         const auto length =
             static_cast<std::uint32_t>(gzip(base::as_bytes(encode_directory(p.leaf))).size());
         p.root = {{5, 0, length, 0}, {6, 0, 3, 1}};
       }},
  };
}

std::vector<Case> all_cases() {
  std::vector<Case> all;
  for (auto part : {header_cases(), metadata_cases(), root_cases(), tile_cases()}) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

constexpr Limits kSmall{
    .directory_bytes = 65536, .entries = 100, .metadata_bytes = 65536, .tile_bytes = 1000};

class MalformedPmtiles : public testing::TestWithParam<Case> {};

TEST_P(MalformedPmtiles, IsRefusedWithTheReason) {
  Parts parts;
  GetParam().spoil(parts);
  MemorySource source(parts.file());
  const auto index = PmtilesIndex::load(source, kSmall, {});
  ASSERT_FALSE(index.has_value());
  EXPECT_EQ(index.error().code, base::Code::Malformed);
  EXPECT_THAT(index.error().message, testing::HasSubstr(GetParam().reason));
}
INSTANTIATE_TEST_SUITE_P(All, MalformedPmtiles, testing::ValuesIn(all_cases()),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(MalformedPmtiles, AreSoundBeforeTheyAreSpoilt) {
  Parts parts;
  MemorySource source(parts.file());
  const auto index = PmtilesIndex::load(source, kSmall, {});
  ASSERT_TRUE(index.has_value()) << index.error().message;
  EXPECT_EQ(index->entries(), 4U);
  EXPECT_EQ(index->info().tiles, 5U);
  EXPECT_EQ(index->info().contents, 3U);
}

// Work that nobody waits for ends by itself, between two directories.
TEST(MalformedPmtiles, EndWhenTheyAreAbandoned) {
  // Reading the leaf is when its caller goes.
  class LeftAtTheLeaf final : public Source {
   public:
    LeftAtTheLeaf(std::string bytes, std::uint64_t leaves, std::shared_ptr<base::StopFlag> flag)
        : inner_(std::move(bytes)), leaves_(leaves), flag_(std::move(flag)) {}
    [[nodiscard]] std::uint64_t size() const noexcept override { return inner_.size(); }
    base::Result<void> fill(std::uint64_t offset, base::MutableBytes into) override {
      if (offset >= leaves_) {
        EXPECT_EQ(flag_->cause(), base::StopCause::None) << "another leaf is read";
        flag_->set(base::StopCause::Abandoned);
      }
      return inner_.fill(offset, into);
    }

   private:
    MemorySource inner_;
    std::uint64_t leaves_;
    std::shared_ptr<base::StopFlag> flag_;
  };
  Parts parts;
  const std::string second = gzip(base::as_bytes(encode_directory({{{9, 0, 3, 1}}})));
  const auto length =
      static_cast<std::uint32_t>(gzip(base::as_bytes(encode_directory(parts.leaf))).size());
  parts.root = {
      {0, 0, 3, 1}, {5, 0, length, 0}, {9, length, static_cast<std::uint32_t>(second.size()), 0}};
  parts.spoil_leaf = [&second](std::string& leaf) { leaf += second; };
  const std::string bytes = parts.file();
  MemorySource whole(bytes);
  ASSERT_TRUE(PmtilesIndex::load(whole, kSmall, {}).has_value());
  const auto flag = std::make_shared<base::StopFlag>();
  LeftAtTheLeaf source(bytes, parts.header.leaves.offset, flag);
  const auto index = PmtilesIndex::load(source, kSmall, base::StopToken(flag));
  ASSERT_FALSE(index.has_value());
  EXPECT_EQ(index.error().code, base::Code::Canceled);
}

// Columns of one number compress to nothing, and each entry takes memory.
TEST(MalformedPmtiles, HaveNoMoreEntriesThanTheirBytesCanHold) {
  constexpr std::size_t kEntries = 300'000;
  Parts parts;
  parts.root_bytes = varints({kEntries}) + std::string(4 * kEntries, '\1');
  const std::string as_gzip = parts.file();
  ASSERT_LE(kEntries,
            PmtilesIndex::most_entries(parts.header.root.length + parts.header.leaves.length));
  MemorySource honest(as_gzip);
  const auto index = PmtilesIndex::load(honest, {}, {});
  ASSERT_TRUE(index.has_value()) << index.error().message;
  EXPECT_EQ(index->entries(), kEntries);
  parts.pack = zstd;
  parts.spoil_header = [](PmtilesHeader& h) { h.internal_compression = Compression::Zstd; };
  MemorySource hostile(parts.file());
  const auto refused = PmtilesIndex::load(hostile, {}, {});
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().message,
              testing::HasSubstr("the root directory: it has 300000 entries, and of the limit"));
}

// Whatever the bytes, nothing worse than a refusal.
TEST(MalformedPmtiles, OfAnyTwoBytesChangedNeverCrash) {
  Parts parts;
  const std::string sound = parts.file();
  platform::FastRandom random(11);
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes = sound;
    for (int k = 0; k < 2; ++k) {
      bytes[random.below(bytes.size())] = static_cast<char>(random.next());
    }
    MemorySource source(bytes);
    const auto index = PmtilesIndex::load(source, kSmall, {});
    if (!index) continue;
    for (std::uint64_t id = 0; id < 8; ++id) {
      const auto place = index->find(id);
      if (place) EXPECT_LE(place->offset + place->length, bytes.size());
    }
  }
}

}  // namespace
}  // namespace ron::pack
