#include "b3/outboard.h"

#include <vector>

#include <gtest/gtest.h>

#include "b3/hash.h"
#include "b3/sample_bytes.h"
#include "base/encoding.h"

namespace ron::b3 {
namespace {

using base::ByteView;
using base::Code;

TEST(Outboard, KnowsTheAddress) {
  const auto content = samples::noise(9 * kGroupBytes + 3, 20);
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, kChunkBytes, kGroupBytes,
                                 kGroupBytes + 1, 3 * kGroupBytes, content.size()}) {
    const ByteView bytes = ByteView(content).first(size);
    const Outboard outboard = Outboard::of(bytes);
    EXPECT_EQ(outboard.id(), hash(bytes)) << size;
    EXPECT_EQ(outboard.total_bytes(), size);
    EXPECT_EQ(outboard.serialised().size(), outboard_bytes(size)) << size;
  }
}

TEST(Outboard, IsTheSameFromGroupValues) {
  const auto content = samples::noise(20 * kGroupBytes + 99, 21);
  std::vector<ChainingValue> groups(group_count(content.size()));
  const std::span<ChainingValue> all(groups);
  const ByteView bytes(content);
  group_values(bytes.subspan(16 * kGroupBytes), 16, all.subspan(16));
  group_values(bytes.first(16 * kGroupBytes), 0, all.first(16));
  const auto made = Outboard::from_groups(content.size(), groups);
  ASSERT_TRUE(made);
  EXPECT_EQ(made->id(), hash(content));
  EXPECT_EQ(made->serialised(), Outboard::of(content).serialised());
}

TEST(Outboard, RefusesAWrongNumberOfGroupsWithoutAllocatingForIt) {
  const std::vector<ChainingValue> three(3);
  EXPECT_TRUE(Outboard::from_groups(3 * kGroupBytes, three));
  for (const std::uint64_t total :
       {std::uint64_t{0}, std::uint64_t{kGroupBytes}, std::uint64_t{2 * kGroupBytes},
        3 * kGroupBytes + 1, UINT64_MAX}) {
    EXPECT_EQ(Outboard::from_groups(total, three).error().code, Code::Internal) << total;
  }
  const std::vector<ChainingValue> one(1);
  EXPECT_FALSE(Outboard::from_groups(kGroupBytes, one)) << "the root of one group needs its bytes";
}

TEST(Outboard, LayoutIsStable) {
  const auto content = samples::noise(3 * kGroupBytes, 22);
  const ByteView bytes(content);
  std::vector<ChainingValue> g(3);
  group_values(bytes, 0, g);
  const ChainingValue left = parent_of(g[0], g[1]);
  const std::vector<std::byte> serialised = Outboard::of(bytes).serialised();
  EXPECT_EQ(base::to_hex(serialised),
            "62336f62"                      // b3ob
            "01100000"                      // version, 2^16, zero
            "0000030000000000" +            // 196608
                base::to_hex(left.bytes) +  // parent of all
                base::to_hex(g[2].bytes) +  //
                base::to_hex(g[0].bytes) +  // parent of 0 and 1
                base::to_hex(g[1].bytes));
}

TEST(Outboard, CostsATenthOfAPercent) {
  EXPECT_EQ(outboard_bytes(0), 16U);
  EXPECT_EQ(outboard_bytes(kGroupBytes), 16U);
  EXPECT_EQ(outboard_bytes(base::kGiB), 16 + 64 * (16'384 - 1U));
  EXPECT_EQ(outboard_bytes(UINT64_MAX), 16 + 64 * (kMaxGroups - 1));
}

TEST(OutboardView, ParsesWhatOutboardWrites) {
  for (const std::size_t size : {std::size_t{0}, kGroupBytes, 5 * kGroupBytes + 1}) {
    const Outboard outboard = Outboard::of(samples::noise(size, 23));
    const auto view = OutboardView::parse(outboard.serialised(), size);
    ASSERT_TRUE(view) << size;
    EXPECT_EQ(view->total_bytes(), size);
    EXPECT_EQ(view->groups(), group_count(size));
    EXPECT_EQ(view->parents().size(), (group_count(size) - 1) * kParentBytes);
  }
}

TEST(OutboardView, RefusesAnotherLengthThanDeclared) {
  const Outboard outboard = Outboard::of(samples::noise(3 * kGroupBytes, 24));
  for (const std::uint64_t total :
       {std::uint64_t{0}, 3 * kGroupBytes - 1, 3 * kGroupBytes + 1, UINT64_MAX}) {
    const auto view = OutboardView::parse(outboard.serialised(), total);
    ASSERT_FALSE(view) << total;
    EXPECT_EQ(view.error().code, Code::IntegrityFail);
  }
}

TEST(OutboardView, RefusesTruncationAndTrailingBytes) {
  std::vector<std::byte> serialised =
      Outboard::of(samples::noise(3 * kGroupBytes, 25)).serialised();
  for (std::size_t size = 0; size < serialised.size(); ++size) {
    const auto view = OutboardView::parse(ByteView(serialised).first(size), 3 * kGroupBytes);
    ASSERT_FALSE(view) << size;
    ASSERT_EQ(view.error().code, Code::IntegrityFail);
  }
  serialised.push_back(std::byte{0});
  EXPECT_FALSE(OutboardView::parse(serialised, 3 * kGroupBytes));
}

TEST(OutboardView, RefusesEveryFlippedBitOfTheHead) {
  const std::vector<std::byte> good =
      Outboard::of(samples::noise(2 * kGroupBytes, 26)).serialised();
  for (std::size_t bit = 0; bit < 8 * kOutboardHeadBytes; ++bit) {
    std::vector<std::byte> bad = good;
    bad[bit / 8] ^= std::byte{1} << (bit % 8);
    EXPECT_FALSE(OutboardView::parse(bad, 2 * kGroupBytes)) << bit;
  }
}

TEST(OutboardView, TakesParentsOfExactlyTheRightSize) {
  EXPECT_TRUE(OutboardView::of_parents({}, 0));
  EXPECT_TRUE(OutboardView::of_parents({}, kGroupBytes));
  EXPECT_FALSE(OutboardView::of_parents({}, kGroupBytes + 1));
  EXPECT_FALSE(OutboardView::of_parents({}, UINT64_MAX));
  const std::vector<std::byte> one(kParentBytes);
  EXPECT_TRUE(OutboardView::of_parents(one, kGroupBytes + 1));
  EXPECT_FALSE(OutboardView::of_parents(one, kGroupBytes));
}

}  // namespace
}  // namespace ron::b3
