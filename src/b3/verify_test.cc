#include "b3/verify.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "b3/hash.h"
#include "b3/sample_bytes.h"
#include "b3/sample_gen.h"

namespace ron::b3 {
namespace {

using base::ByteView;
using base::Code;
using base::ObjectId;

constexpr std::size_t kLargest = 11 * kGroupBytes + 777;

// Lengths that differ in shape: one group, full and ragged last groups, every small tree.
rc::Gen<std::size_t> any_length() {
  return rc::gen::oneOf(samples::between<std::size_t>(0, 3 * kChunkBytes),
                        samples::between<std::size_t>(0, kLargest + 1),
                        rc::gen::map(samples::between<std::size_t>(0, 12),
                                     [](std::size_t groups) { return groups * kGroupBytes; }));
}

ByteView group_of(ByteView object, std::uint64_t index) {
  return object.subspan(group_offset(index), group_length(object.size(), index));
}

void flip(std::span<std::byte> bytes, std::size_t bit) {
  bytes[bit / 8] ^= std::byte{1} << (bit % 8);
}

// The code of the first refusal on the way from stored bytes to a client, if there is one.
std::optional<Code> read_all(const ObjectId& id, ByteView object, ByteView outboard,
                             std::uint64_t total_bytes) {
  const auto view = OutboardView::parse(outboard, total_bytes);
  if (!view) return view.error().code;
  Verifier verifier(id, *view);
  for (std::uint64_t index = 0; index < verifier.groups(); ++index) {
    const auto verdict = verifier.verify_group(index, group_of(object, index));
    if (!verdict) return verdict.error().code;
  }
  return std::nullopt;
}

TEST(Verifier, AcceptsEveryGroupInAnyOrder) {
  const auto content = samples::noise(kLargest, 30);
  EXPECT_TRUE(rc::check("shuffled groups", [&] {
    const ByteView object = ByteView(content).first(*any_length());
    const Outboard outboard = Outboard::of(object);
    Verifier verifier(hash(object), outboard.view());
    std::vector<std::uint64_t> order(verifier.groups());
    std::iota(order.begin(), order.end(), 0);
    for (std::size_t left = order.size(); left > 1; --left) {
      std::swap(order[left - 1], order[*samples::between<std::size_t>(0, left)]);
    }
    for (const std::uint64_t index : order) {
      RC_ASSERT(verifier.verify_group(index, group_of(object, index)).has_value());
    }
    RC_ASSERT(verifier.verify_outboard().has_value());
  }));
}

TEST(Verifier, AcceptsAnyRange) {
  const auto content = samples::noise(kLargest, 31);
  EXPECT_TRUE(rc::check("random ranges", [&] {
    const ByteView object = ByteView(content).first(*any_length());
    const Outboard outboard = Outboard::of(object);
    Verifier verifier(hash(object), outboard.view());
    const auto offset = *samples::between<std::size_t>(0, object.size() + 1);
    const auto length = *samples::between<std::size_t>(0, kLargest);
    const GroupRange range = groups_covering(object.size(), offset, length);
    RC_PRE(range.count > 0);
    const std::size_t begin = group_offset(range.first);
    const std::size_t end = std::min(object.size(), begin + range.count * kGroupBytes);
    RC_ASSERT(begin <= offset);
    RC_ASSERT(end >= std::min(object.size(), offset + length));
    const ByteView run = object.subspan(begin, end - begin);
    RC_ASSERT(verifier.verify_groups(range.first, run).has_value());
  }));
}

TEST(Verifier, RefusesAnyFlippedBit) {
  const auto content = samples::noise(kLargest, 32);
  EXPECT_TRUE(rc::check("data, outboard or address", [&] {
    std::vector<std::byte> object(content.begin(),
                                  content.begin() + static_cast<std::ptrdiff_t>(*any_length()));
    const std::size_t size = object.size();
    std::vector<std::byte> outboard = Outboard::of(object).serialised();
    auto digest = hash(object).digest();
    RC_ASSERT(read_all(ObjectId(digest), object, outboard, size) == std::nullopt);

    for (const std::span<std::byte> target :
         {std::span<std::byte>(digest), std::span<std::byte>(outboard),
          std::span<std::byte>(object)}) {
      if (target.empty()) continue;
      const auto bit = *samples::between<std::size_t>(0, 8 * target.size());
      flip(target, bit);
      RC_ASSERT(read_all(ObjectId(digest), object, outboard, size) == Code::IntegrityFail);
      flip(target, bit);
    }
  }));
}

TEST(Verifier, RefusesEveryFlippedBitOfAnOutboard) {
  const auto object = samples::noise(3 * kGroupBytes + 1, 33);
  const ObjectId id = hash(object);
  const std::vector<std::byte> good = Outboard::of(object).serialised();
  for (std::size_t bit = 0; bit < 8 * good.size(); ++bit) {
    std::vector<std::byte> bad = good;
    flip(bad, bit);
    const auto view = OutboardView::parse(bad, object.size());
    if (!view) continue;  // the head, which has its own test
    const auto verdict = Verifier(id, *view).verify_outboard();
    ASSERT_FALSE(verdict) << bit;
    ASSERT_EQ(verdict.error().code, Code::IntegrityFail);
  }
}

TEST(Verifier, RefusesEveryFlippedBitOfAnAddress) {
  const auto content = samples::noise(2 * kGroupBytes, 34);
  for (const std::size_t size : {std::size_t{0}, std::size_t{100}, 2 * kGroupBytes}) {
    const ByteView object = ByteView(content).first(size);
    const Outboard outboard = Outboard::of(object);
    for (std::size_t bit = 0; bit < 256; ++bit) {
      auto digest = outboard.id().digest();
      flip(digest, bit);
      Verifier verifier(ObjectId(digest), outboard.view());
      EXPECT_FALSE(verifier.verify_group(0, group_of(object, 0))) << size << ' ' << bit;
    }
  }
}

TEST(Verifier, NamesTheBadGroupAndGoesOnWithTheOthers) {
  auto object = samples::noise(6 * kGroupBytes, 35);
  const Outboard outboard = Outboard::of(object);
  flip(object, 8 * (3 * kGroupBytes + 5));
  Verifier verifier(outboard.id(), outboard.view());
  for (const std::uint64_t index : {0, 2, 3, 4, 5, 3, 1}) {
    const auto verdict = verifier.verify_group(index, group_of(object, index));
    EXPECT_EQ(verdict.has_value(), index != 3) << index;
    if (!verdict) {
      EXPECT_EQ(verdict.error().code, Code::IntegrityFail);
      EXPECT_TRUE(verdict.error().message.starts_with("group 3 of b3:"));
    }
  }
}

TEST(Verifier, SeesAnOutboardThatGoesBadUnderTheCheckedPath) {
  const auto object = samples::noise(8 * kGroupBytes, 36);
  const Outboard outboard = Outboard::of(object);
  std::vector<std::byte> stored = outboard.serialised();
  Verifier verifier(outboard.id(), *OutboardView::parse(stored, object.size()));
  ASSERT_TRUE(verifier.verify_group(0, group_of(object, 0)));
  std::ranges::fill(std::span(stored).subspan(kOutboardHeadBytes), std::byte{0});
  EXPECT_TRUE(verifier.verify_group(1, group_of(object, 1))) << "its path was copied when checked";
  EXPECT_FALSE(verifier.verify_group(7, group_of(object, 7)));
}

TEST(Verifier, RefusesGroupsInEachOthersPlace) {
  const std::vector<std::byte> object(4 * kGroupBytes);  // equal groups differ by place only
  const Outboard good = Outboard::of(object);
  std::vector<ChainingValue> groups(4);
  group_values(object, 0, groups);
  std::swap(groups[0], groups[1]);
  const auto swapped = Outboard::from_groups(object.size(), groups);
  ASSERT_TRUE(swapped);
  Verifier verifier(good.id(), swapped->view());
  EXPECT_FALSE(verifier.verify_group(0, group_of(object, 0)));
}

TEST(Verifier, RefusesTheWrongNumberOfBytes) {
  const auto object = samples::noise(2 * kGroupBytes + 10, 37);
  const ByteView bytes(object);
  const Outboard outboard = Outboard::of(object);
  Verifier verifier(outboard.id(), outboard.view());
  EXPECT_FALSE(verifier.verify_group(0, {}));
  EXPECT_FALSE(verifier.verify_group(0, bytes.first(kGroupBytes - 1)));
  EXPECT_FALSE(verifier.verify_group(0, bytes.first(kGroupBytes + 1)));
  EXPECT_FALSE(verifier.verify_groups(0, bytes.first(kGroupBytes + 1)));
  EXPECT_FALSE(verifier.verify_groups(1, {}));
  EXPECT_TRUE(verifier.verify_groups(1, bytes.subspan(kGroupBytes)));
}

TEST(Verifier, RefusesGroupsThatDoNotExist) {
  const auto object = samples::noise(2 * kGroupBytes, 38);
  const Outboard outboard = Outboard::of(object);
  Verifier verifier(outboard.id(), outboard.view());
  for (const std::uint64_t index : {std::uint64_t{2}, kMaxGroups, UINT64_MAX}) {
    EXPECT_EQ(verifier.verify_group(index, {}).error().code, Code::RangeNotSatisfiable);
    EXPECT_EQ(verifier.verify_groups(index, object).error().code, Code::RangeNotSatisfiable);
  }
}

// The address says nothing of the length, and a prefix of the tree may look alike: the last group
// settles it.
TEST(Verifier, ProvesTheLengthWithTheLastGroup) {
  const auto object = samples::noise(4 * kGroupBytes, 39);
  const Outboard outboard = Outboard::of(object);
  for (const std::size_t claimed : {4 * kGroupBytes - 1, 3 * kGroupBytes + 1, 3 * kGroupBytes,
                                    2 * kGroupBytes, kGroupBytes, std::size_t{1}}) {
    const ByteView prefix = ByteView(object).first(claimed);
    const std::size_t parents = parent_count(claimed) * kParentBytes;
    const auto view = OutboardView::of_parents(outboard.view().parents().first(parents), claimed);
    ASSERT_TRUE(view);
    Verifier verifier(outboard.id(), *view);
    const std::uint64_t last = verifier.groups() - 1;
    const auto verdict = verifier.verify_group(last, group_of(prefix, last));
    ASSERT_FALSE(verdict) << claimed;
    EXPECT_EQ(verdict.error().code, Code::IntegrityFail);
  }
}

}  // namespace
}  // namespace ron::b3
