#include "b3/tree.h"

#include <array>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "b3/hash.h"
#include "b3/kernels.h"
#include "b3/sample_bytes.h"
#include "b3/sample_gen.h"
#include "base/units.h"

namespace ron::b3 {
namespace {

using base::ByteView;
using base::Code;
using base::kKiB;
using base::kMiB;
using base::limits::kPartBytes;

ChainingValue to_value(const std::uint32_t (&words)[8]) {
  ChainingValue value;
  for (std::size_t i = 0; i < value.bytes.size(); ++i) {
    value.bytes[i] = static_cast<std::byte>(words[i / 4] >> (8 * (i % 4)));
  }
  return value;
}

// The definition of the tree, one block at a time on the portable compression function: slow, no
// SIMD, no levels, no shared code with tree.cc.
ChainingValue reference(ByteView bytes, std::uint64_t first_chunk) {
  std::uint32_t words[8];
  std::copy_n(IV, 8, words);
  if (bytes.size() > 1024) {
    std::size_t left = 1024;
    while (left * 2 < bytes.size()) left *= 2;
    const ChainingValue children[2] = {reference(bytes.first(left), first_chunk),
                                       reference(bytes.subspan(left), first_chunk + left / 1024)};
    blake3_compress_in_place_portable(words, reinterpret_cast<const std::uint8_t*>(children), 64, 0,
                                      4);
    return to_value(words);
  }
  for (std::size_t at = 0; at == 0 || at < bytes.size(); at += 64) {
    std::array<std::byte, 64> block{};
    const ByteView part = bytes.subspan(at, std::min<std::size_t>(64, bytes.size() - at));
    std::copy(part.begin(), part.end(), block.begin());
    const int flags = (at == 0 ? 1 : 0) | (at + 64 >= bytes.size() ? 2 : 0);
    blake3_compress_in_place_portable(words, reinterpret_cast<const std::uint8_t*>(block.data()),
                                      static_cast<std::uint8_t>(part.size()), first_chunk,
                                      static_cast<std::uint8_t>(flags));
  }
  return to_value(words);
}

std::vector<ChainingValue> unit_values(ByteView bytes, std::size_t unit_bytes) {
  std::vector<ChainingValue> values;
  for (std::size_t at = 0; at < bytes.size(); at += unit_bytes) {
    const std::size_t size = std::min(unit_bytes, bytes.size() - at);
    values.push_back(subtree(bytes.subspan(at, size), at / kChunkBytes));
  }
  return values;
}

TEST(Subtree, MatchesTheDefinitionAroundEveryChunkBoundary) {
  const auto content = samples::noise(130 * 1024 + 1, 10);
  for (std::size_t chunks = 0; chunks <= 130; ++chunks) {
    for (const std::size_t extra : {0, 1, 63, 64, 65, 1023}) {
      const std::size_t size = std::min(content.size(), chunks * 1024 + extra);
      const ByteView bytes = ByteView(content).first(size);
      ASSERT_EQ(subtree(bytes, 256), reference(bytes, 256)) << size;
    }
  }
}

TEST(Subtree, MatchesTheDefinitionAcrossBlocks) {
  const auto content = samples::noise(3 * kMiB, 11);
  for (const std::size_t size : {256 * kKiB - 1, 256 * kKiB, 256 * kKiB + 1, 300 * kKiB + 5,
                                 512 * kKiB + 1, kMiB - 1, kMiB, kMiB + 1, 3 * kMiB - 77}) {
    const ByteView bytes = ByteView(content).first(size);
    EXPECT_EQ(subtree(bytes, 4096), reference(bytes, 4096)) << size;
  }
}

TEST(Subtree, MatchesTheDefinitionAtRandomOffsets) {
  const auto content = samples::noise(256 * kKiB, 12);
  EXPECT_TRUE(rc::check("any aligned place up to the last chunk there can be", [&] {
    const auto size = *samples::between<std::size_t>(0, content.size() + 1);
    const std::uint64_t align = 256;
    const auto place = *samples::between<std::uint64_t>(0, kMaxChunks / align);
    const ByteView bytes = ByteView(content).first(size);
    RC_ASSERT(subtree(bytes, place * align) == reference(bytes, place * align));
  }));
}

TEST(Subtree, CountsChunksAcrossThe32BitCarry) {
  const auto content = samples::noise(64 * kKiB, 13);
  for (const std::uint64_t chunk :
       {(std::uint64_t{1} << 31) - 64, std::uint64_t{1} << 31, (std::uint64_t{1} << 32) - 64,
        std::uint64_t{1} << 32, kMaxChunks - 64}) {
    EXPECT_EQ(subtree(content, chunk), reference(content, chunk)) << chunk;
  }
}

#if defined(__x86_64__)
// tree.cc lets the kernels overwrite their own input while pairing; each of them must bear it, not
// only the one this machine's dispatch picks.
TEST(Subtree, EveryKernelMayPairInPlace) {
  using Kernel = decltype(&blake3_hash_many_portable);
  std::vector<Kernel> kernels = {blake3_hash_many_portable, blake3_hash_many_sse2};
  if (__builtin_cpu_supports("sse4.1")) kernels.push_back(blake3_hash_many_sse41);
  if (__builtin_cpu_supports("avx2")) kernels.push_back(blake3_hash_many_avx2);
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl")) {
    kernels.push_back(blake3_hash_many_avx512);
  }
  for (std::size_t pairs = 1; pairs <= 16; ++pairs) {
    const auto children = samples::noise(pairs * 64, pairs);
    std::vector<std::byte> expected;
    for (std::size_t i = 0; i < pairs; ++i) {
      ChainingValue left;
      ChainingValue right;
      std::copy_n(&children[i * 64], 32, left.bytes.begin());
      std::copy_n(&children[i * 64 + 32], 32, right.bytes.begin());
      const ChainingValue parent = parent_of(left, right);
      expected.insert(expected.end(), parent.bytes.begin(), parent.bytes.end());
    }
    for (std::size_t k = 0; k < kernels.size(); ++k) {
      std::vector<std::byte> values = children;
      auto* raw = reinterpret_cast<std::uint8_t*>(values.data());
      std::vector<const std::uint8_t*> inputs;
      for (std::size_t i = 0; i < pairs; ++i) inputs.push_back(raw + i * 64);
      kernels[k](inputs.data(), pairs, 1, IV, 0, false, PARENT, 0, 0, raw);
      values.resize(pairs * 32);
      ASSERT_EQ(values, expected) << "kernel " << k << ", pairs " << pairs;
    }
  }
}
#endif

TEST(Subtree, DependsOnThePlace) {
  const auto content = samples::noise(kGroupBytes, 14);
  EXPECT_NE(subtree(content, 0), subtree(content, kGroupChunks));
}

TEST(SubtreeDeathTest, RefusesAMisalignedRun) {
  const auto content = samples::noise(2 * kChunkBytes, 15);
  EXPECT_DEATH((void)subtree(content, 1), "first_chunk");
  EXPECT_DEATH((void)subtree(content, kMaxChunks), "first_chunk");
}

TEST(GroupValues, AreTheSubtreeOfEachGroup) {
  const auto content = samples::noise(kMiB + 5 * kKiB, 16);
  EXPECT_TRUE(rc::check("any length", [&] {
    const auto size = *samples::between<std::size_t>(1, content.size() + 1);
    const auto first = *samples::between<std::uint64_t>(0, kMaxGroups - 32);
    const ByteView bytes = ByteView(content).first(size);
    std::vector<ChainingValue> values(group_count(size));
    group_values(bytes, first, values);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const ByteView group = bytes.subspan(i * kGroupBytes, group_length(size, i));
      RC_ASSERT(values[i] == subtree(group, (first + i) * kGroupChunks));
    }
  }));
}

TEST(Combine, GivesAPartsValueFromItsGroups) {
  const auto content = samples::noise(kPartBytes, 17);
  for (const std::size_t size : {kPartBytes, kPartBytes - 1, std::size_t{5} * kGroupBytes + 9,
                                 kGroupBytes, std::size_t{1}}) {
    const ByteView bytes = ByteView(content).first(size);
    std::vector<ChainingValue> groups(group_count(size));
    group_values(bytes, 16, groups);
    EXPECT_EQ(combine(groups), subtree(bytes, 16 * kGroupChunks)) << size;
  }
}

TEST(Composition, GivesTheAddressForAnyUnitSize) {
  const auto content = samples::noise(5 * kMiB + 4321, 18);
  EXPECT_TRUE(rc::check("all at once and one by one", [&] {
    const std::size_t unit = kChunkBytes << *samples::between(0, 12);
    const auto size = *samples::between<std::size_t>(unit + 1, content.size() + 1);
    const ByteView bytes = ByteView(content).first(size);
    const base::ObjectId expected = hash(bytes);
    const auto values = unit_values(bytes, unit);

    const auto at_once = root_of(size, unit, values);
    RC_ASSERT(at_once.has_value());
    RC_ASSERT(*at_once == expected);

    auto composer = RootComposer::create(size, unit);
    RC_ASSERT(composer.has_value());
    for (const ChainingValue& value : values) RC_ASSERT(composer->append(value).has_value());
    RC_ASSERT(composer->finish().value() == expected);
  }));
}

TEST(Composition, GivesTheAddressForEveryNumberOfUnits) {
  const auto content = samples::noise(70 * kChunkBytes, 19);
  for (std::size_t size = kChunkBytes + 1; size <= content.size(); size += 511) {
    const ByteView bytes = ByteView(content).first(size);
    const auto values = unit_values(bytes, kChunkBytes);
    auto composer = RootComposer::create(size, kChunkBytes);
    for (const ChainingValue& value : values) ASSERT_TRUE(composer->append(value));
    ASSERT_EQ(composer->finish(), hash(bytes)) << size;
    ASSERT_EQ(root_of(size, kChunkBytes, values), hash(bytes)) << size;
  }
}

TEST(Composition, RefusesAnObjectOfOneUnit) {
  const std::array<ChainingValue, 1> one{};
  for (const std::uint64_t size : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{kPartBytes}}) {
    EXPECT_EQ(root_of(size, kPartBytes, one).error().code, Code::Internal);
    EXPECT_EQ(RootComposer::create(size, kPartBytes).error().code, Code::Internal);
  }
}

TEST(Composition, RefusesAUnitThatIsNoSubtree) {
  for (const std::uint64_t unit : {0, 1, 512, 1025, 3072}) {
    EXPECT_EQ(RootComposer::create(1 << 20, unit).error().code, Code::Internal) << unit;
  }
}

TEST(Composition, RefusesTooFewAndTooManyValues) {
  const std::vector<ChainingValue> values(4);
  EXPECT_FALSE(root_of(3 * kPartBytes, kPartBytes, values));
  EXPECT_FALSE(root_of(5 * kPartBytes, kPartBytes, values));
  EXPECT_TRUE(root_of(3 * kPartBytes + 1, kPartBytes, values));

  auto composer = RootComposer::create(2 * kPartBytes, kPartBytes);
  ASSERT_TRUE(composer);
  EXPECT_FALSE(composer->finish());
  EXPECT_TRUE(composer->append(values[0]));
  EXPECT_FALSE(composer->finish());
  EXPECT_TRUE(composer->append(values[1]));
  EXPECT_TRUE(composer->finish());
  EXPECT_FALSE(composer->append(values[2]));
}

TEST(Geometry, HoldsAtBothEndsOfTheScale) {
  EXPECT_EQ(group_count(0), 1U);
  EXPECT_EQ(group_count(1), 1U);
  EXPECT_EQ(group_count(kGroupBytes), 1U);
  EXPECT_EQ(group_count(kGroupBytes + 1), 2U);
  EXPECT_EQ(group_count(UINT64_MAX), kMaxGroups);
  EXPECT_EQ(group_length(0, 0), 0U);
  EXPECT_EQ(group_length(1, 0), 1U);
  EXPECT_EQ(group_length(1, 1), 0U);
  EXPECT_EQ(group_length(UINT64_MAX, kMaxGroups - 1), kGroupBytes - 1);
  EXPECT_EQ(group_length(UINT64_MAX, kMaxGroups), 0U);
  EXPECT_EQ(group_length(UINT64_MAX, UINT64_MAX), 0U);
  EXPECT_EQ(unit_count(UINT64_MAX, kChunkBytes), kMaxChunks);
  EXPECT_EQ(RootComposer::create(UINT64_MAX, kChunkBytes)->expected(), kMaxChunks);
  EXPECT_EQ(left_units(2), 1U);
  EXPECT_EQ(left_units(kMaxGroups), kMaxGroups / 2);
  EXPECT_EQ(left_units(kMaxGroups - 1), kMaxGroups / 2);
}

TEST(Geometry, FindsTheGroupsOfARange) {
  EXPECT_EQ(groups_covering(0, 0, 10), (GroupRange{0, 0}));
  EXPECT_EQ(groups_covering(10, 0, 0), (GroupRange{0, 0}));
  EXPECT_EQ(groups_covering(10, 10, 1), (GroupRange{0, 0}));
  EXPECT_EQ(groups_covering(10, 9, UINT64_MAX), (GroupRange{0, 1}));
  EXPECT_EQ(groups_covering(3 * kGroupBytes, kGroupBytes - 1, 2), (GroupRange{0, 2}));
  EXPECT_EQ(groups_covering(3 * kGroupBytes, kGroupBytes, kGroupBytes), (GroupRange{1, 1}));
  EXPECT_EQ(groups_covering(UINT64_MAX, 0, UINT64_MAX), (GroupRange{0, kMaxGroups}));
  EXPECT_EQ(groups_covering(UINT64_MAX, UINT64_MAX - 1, UINT64_MAX),
            (GroupRange{kMaxGroups - 1, 1}));
}

TEST(Geometry, TheGroupsOfARangeHoldItAndNothingMore) {
  EXPECT_TRUE(rc::check("any range of any object", [] {
    const auto total = *samples::between<std::uint64_t>(1, 12 * kGroupBytes);
    const auto offset = *samples::between<std::uint64_t>(0, total);
    const auto length = *samples::between<std::uint64_t>(1, 12 * kGroupBytes);
    const std::uint64_t last = std::min(total, offset + length) - 1;
    const GroupRange range = groups_covering(total, offset, length);
    RC_ASSERT(range.first == offset / kGroupBytes);
    RC_ASSERT(range.first + range.count - 1 == last / kGroupBytes);
  }));
}

}  // namespace
}  // namespace ron::b3
