#include "volume/entry.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace ron::volume {
namespace {

const Place kPlace{4, 96, 200, 1000};

template <class Entry>
void expect_strict(const Entry& entry) {
  const std::string value = encode(entry);
  EXPECT_EQ(parse_entry<Entry>(value), entry);
  EXPECT_FALSE(parse_entry<Entry>(value + "x").has_value());
  for (std::size_t size = 0; size < value.size(); ++size) {
    EXPECT_FALSE(parse_entry<Entry>(value.substr(0, size)).has_value()) << size;
  }
  std::string other = value;
  other[0] = 2;
  EXPECT_FALSE(parse_entry<Entry>(other).has_value());
}

TEST(Entry, ParsesExactlyWhatItEncodes) {
  expect_strict(ObjectEntry{ObjectEntry::State::Stored, 9, kPlace, 1000, 2, 3, std::nullopt, "t"});
  expect_strict(
      ObjectEntry{ObjectEntry::State::Composed, 9, kPlace, 5000000, 2, 3, UploadId(1, 2, 3), ""});
  expect_strict(UploadEntry{UploadEntry::State::Open, 1, kPlace, 77, 2, 3, -5, std::nullopt, "t"});
  expect_strict(
      UploadEntry{UploadEntry::State::Ended, 1, kPlace, 77, 2, 3, 5, base::ObjectId(), "t"});
  expect_strict(PartEntry{3, kPlace, {}});
  expect_strict(SegmentEntry{100, 50});
  expect_strict(QuarantineEntry{1, 2});
  expect_strict(MetaEntry{1, 2, 3, 4, true});
}

TEST(Entry, ImpossibleValuesAreDamage) {
  EXPECT_FALSE(parse_entry<SegmentEntry>(encode(SegmentEntry{50, 100})).has_value());
  ObjectEntry wrong_length{ObjectEntry::State::Stored, 9, kPlace, 1001, 2, 3, std::nullopt, "t"};
  EXPECT_FALSE(parse_entry<ObjectEntry>(encode(wrong_length)).has_value());
  ObjectEntry no_upload{ObjectEntry::State::Composed, 9, kPlace, 1, 2, 3, std::nullopt, "t"};
  EXPECT_FALSE(parse_entry<ObjectEntry>(encode(no_upload)).has_value());
  PartEntry empty{3, {4, 96, 200, 0}, {}};
  EXPECT_FALSE(parse_entry<PartEntry>(encode(empty)).has_value());
}

TEST(Entry, KeysOfPartsSortByNumber) {
  EXPECT_TRUE(rc::check([](std::uint64_t a, std::uint64_t b) {
    const UploadId upload(1, 2, 3);
    RC_ASSERT((part_key(upload, a) < part_key(upload, b)) == (a < b));
    RC_ASSERT(part_key(upload, a) >= parts_prefix(upload));
    RC_ASSERT(part_key(upload, a) < end_of(parts_prefix(upload)));
    RC_ASSERT(parse_part_key(part_key(upload, a))->part == a);
  }));
}

TEST(Entry, KeysRefuseOtherKinds) {
  EXPECT_EQ(parse_upload_key(upload_key(UploadId(1, 2, 3))), UploadId(1, 2, 3));
  EXPECT_FALSE(parse_upload_key(part_key(UploadId(1, 2, 3), 0)).has_value());
  EXPECT_FALSE(parse_object_key(segment_key(1)).has_value());
  EXPECT_EQ(parse_segment_key(segment_key(77)), 77U);
}

}  // namespace
}  // namespace ron::volume
