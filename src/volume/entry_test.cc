#include "volume/entry.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "b3/hash.h"
#include "base/encoding.h"

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
  expect_strict(HoldEntry{HoldEntry::State::Held, 9, kPlace, 2, 0});
  expect_strict(HoldEntry{HoldEntry::State::Released, 9, kPlace, 2, 3});
  expect_strict(SegmentEntry{100, 50});
  expect_strict(Usage{5, 6});
  expect_strict(QuarantineEntry{1, 2});
  expect_strict(MetaEntry{1, 2, 3, 4, true});
}

std::string hex(std::string_view text) { return base::to_hex(base::as_bytes(text)); }

std::string without_blanks(std::string text) {
  std::erase(text, ' ');
  return text;
}

// What is on disks out there has to be read tomorrow, too.
TEST(Entry, BytesStayAsTheyAre) {
  const std::string place = " 0400000000000000 6000000000000000 c8000000 e8030000 ";
  const std::string origin_and_killed = " 0200000000000000 0300000000000000 ";
  const base::ObjectId id = b3::hash(base::as_bytes("x"));
  const UploadId upload(1, 2, 3);
  b3::ChainingValue value;
  value.bytes[31] = std::byte{7};
  const auto expect = [](const auto& entry, const std::string& bytes) {
    EXPECT_EQ(hex(encode(entry)), without_blanks(bytes));
  };
  expect(ObjectEntry{ObjectEntry::State::Composed, 9, kPlace, 1000, 2, 3, upload, "t"},
         "01 02 0900000000000000" + place + "e803000000000000" + origin_and_killed + "01" +
             hex(upload.text()) + "01 74");
  expect(ObjectEntry{ObjectEntry::State::Gone, 9, kPlace, 0, 2, 3, {}, ""},
         "01 03 0900000000000000" + place + "0000000000000000" + origin_and_killed + "00 00");
  expect(UploadEntry{UploadEntry::State::Ended, 1, kPlace, 77, 2, 3, -5, id, "tt"},
         "01 03 0100000000000000" + place + "4d00000000000000" + origin_and_killed +
             "fbffffffffffffff 01" + hex(base::as_text(id.digest())) + "02 7474");
  expect(UploadEntry{UploadEntry::State::Open, 1, kPlace, 77, 2, 3, 5, {}, ""},
         "01 01 0100000000000000" + place + "4d00000000000000" + origin_and_killed +
             "0500000000000000 00 00");
  expect(PartEntry{3, kPlace, value}, "01 0300000000000000" + place + std::string(62, '0') + "07");
  expect(HoldEntry{HoldEntry::State::Released, 9, kPlace, 2, 3},
         "01 02 0900000000000000" + place + origin_and_killed);
  expect(SegmentEntry{100, 50}, "01 6400000000000000 3200000000000000");
  expect(Usage{5, 6}, "01 0500000000000000 0600000000000000");
  expect(QuarantineEntry{1, -1}, "01 0100000000000000 ffffffffffffffff");
  expect(MetaEntry{1, 2, 3, 4, true},
         "01 0100000000000000 0200000000000000 0300000000000000 0400000000000000 01");
}

TEST(Entry, ImpossibleValuesAreDamage) {
  EXPECT_FALSE(parse_entry<SegmentEntry>(encode(SegmentEntry{50, 100})).has_value());
  ObjectEntry wrong_length{ObjectEntry::State::Stored, 9, kPlace, 1001, 2, 3, std::nullopt, "t"};
  EXPECT_FALSE(parse_entry<ObjectEntry>(encode(wrong_length)).has_value());
  ObjectEntry no_upload{ObjectEntry::State::Composed, 9, kPlace, 1, 2, 3, std::nullopt, "t"};
  EXPECT_FALSE(parse_entry<ObjectEntry>(encode(no_upload)).has_value());
  HoldEntry unknown_state{static_cast<HoldEntry::State>(3), 9, kPlace, 2, 3};
  EXPECT_FALSE(parse_entry<HoldEntry>(encode(unknown_state)).has_value());
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

TEST(Entry, KeysOfHoldsAreOfOneObject) {
  std::array<std::byte, base::ObjectId::kBytes> digest{};
  digest.fill(std::byte{0xFF});
  for (const base::ObjectId& id : {base::ObjectId(), base::ObjectId(digest)}) {
    for (const std::string& tenant : {std::string(), std::string("acme"), std::string(64, 'z')}) {
      const std::string key = hold_key(id, tenant);
      EXPECT_GE(key, holds_prefix(id));
      EXPECT_LT(key, end_of(holds_prefix(id)));
      EXPECT_EQ(parse_hold_key(key)->id, id);
      EXPECT_EQ(parse_hold_key(key)->tenant, tenant);
    }
  }
  EXPECT_FALSE(parse_hold_key(hold_key({}, std::string(65, 'z'))).has_value());
  EXPECT_FALSE(parse_hold_key(object_key({})).has_value());
  EXPECT_FALSE(parse_hold_key("h").has_value());
}

TEST(Entry, KeysRefuseOtherKinds) {
  EXPECT_EQ(parse_upload_key(upload_key(UploadId(1, 2, 3))), UploadId(1, 2, 3));
  EXPECT_FALSE(parse_upload_key(part_key(UploadId(1, 2, 3), 0)).has_value());
  EXPECT_FALSE(parse_object_key(segment_key(1)).has_value());
  EXPECT_EQ(parse_segment_key(segment_key(77)), 77U);
}

}  // namespace
}  // namespace ron::volume
