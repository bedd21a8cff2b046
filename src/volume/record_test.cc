#include "volume/record.h"

#include <cstring>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "b3/hash.h"
#include "volume/test_support.h"

namespace ron::volume {
namespace {

const Spot kSpot{{std::byte{7}}, 3, 96};

std::vector<std::byte> encoded(const Record& record, const Spot& spot = kSpot) {
  std::vector<std::byte> bytes(record.head_bytes());
  encode(record, spot, bytes);
  return bytes;
}

Record object_record(base::ByteView payload) {
  Record record;
  record.address = b3::hash(payload);
  record.length = payload.size();
  record.payload_bytes = static_cast<std::uint32_t>(payload.size());
  record.tenant = "acme";
  record.sequence = 12;
  record.groups.resize(groups_stored(RecordKind::Object, payload.size()));
  if (!record.groups.empty()) b3::group_values(payload, 0, record.groups);
  return record;
}

Record part_record(base::ByteView payload, std::uint64_t part) {
  Record record;
  record.kind = RecordKind::Part;
  record.upload = UploadId(1, 2, 3);
  record.part = part;
  record.payload_bytes = static_cast<std::uint32_t>(payload.size());
  record.groups.resize(groups_stored(RecordKind::Part, payload.size()));
  b3::group_values(payload, part * 16, record.groups);
  return record;
}

TEST(Record, ParsesWhatItEncoded) {
  for (const std::size_t size : {0U, 1U, 65536U, 65537U, 1000000U}) {
    const std::vector<std::byte> payload = sample_bytes(size, 1);
    const Record record = object_record(payload);
    EXPECT_EQ(parse_record(encoded(record), kSpot), record) << size;
    EXPECT_EQ(first_bad_group(record, payload), std::nullopt) << size;
  }
  const std::vector<std::byte> payload = sample_bytes(100000, 2);
  const Record part = part_record(payload, 5);
  EXPECT_EQ(parse_record(encoded(part), kSpot), part);
  EXPECT_EQ(first_bad_group(part, payload), std::nullopt);
  EXPECT_EQ(part_value(part), b3::subtree(payload, 5 * 1024));
}

TEST(Record, AHoldHasAnAddressAndNothingToHash) {
  for (const RecordKind kind : {RecordKind::HoldAdded, RecordKind::HoldRemoved}) {
    Record record;
    record.kind = kind;
    record.address = b3::hash(sample_bytes(3, 1));
    record.tenant = std::string(kTenantBytes, 't');
    record.killed = 5;
    EXPECT_EQ(parse_record(encoded(record), kSpot), record);
    EXPECT_EQ(first_bad_group(record, {}), std::nullopt);
  }
}

TEST(Record, NoFlippedBitIsBelieved) {
  const Record record = object_record(sample_bytes(70000, 3));
  const std::vector<std::byte> bytes = encoded(record);
  EXPECT_TRUE(rc::check([&] {
    std::vector<std::byte> damaged = bytes;
    const std::size_t at = *rc::gen::inRange<std::size_t>(0, damaged.size());
    damaged[at] ^= std::byte{1} << *rc::gen::inRange(0, 8);
    RC_ASSERT(!parse_record(damaged, kSpot).has_value());
  }));
}

TEST(Record, BelongsToItsPlace) {
  const Record record = object_record(sample_bytes(10, 3));
  Spot elsewhere = kSpot;
  elsewhere.offset += 8;
  EXPECT_FALSE(parse_record(encoded(record), elsewhere).has_value());
  Spot stranger = kSpot;
  stranger.seal[0] = std::byte{8};
  EXPECT_FALSE(parse_record(encoded(record), stranger).has_value());
}

TEST(Record, TellsCutOffFromDamaged) {
  const std::vector<std::byte> bytes = encoded(object_record(sample_bytes(200000, 3)));
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{10}, kFixedHeadBytes, bytes.size() - 1}) {
    const auto parsed = parse_record(base::ByteView(bytes).first(size), kSpot);
    EXPECT_EQ(parsed.error(), ParseFailure::Incomplete) << size;
  }
}

TEST(Record, NamesTheBadGroup) {
  std::vector<std::byte> payload = sample_bytes(200000, 4);
  const Record record = object_record(payload);
  payload[70000] ^= std::byte{1};
  EXPECT_EQ(first_bad_group(record, payload), 1U);
  std::vector<std::byte> bytes = sample_bytes(100000, 4);
  const Record part = part_record(bytes, 2);
  bytes[99999] ^= std::byte{1};
  EXPECT_EQ(first_bad_group(part, bytes), 33U);
}

TEST(Record, GroupValuesMustComposeToTheAddress) {
  const std::vector<std::byte> payload = sample_bytes(200000, 5);
  Record record = object_record(payload);
  record.address = b3::hash(sample_bytes(1, 1));
  EXPECT_EQ(first_bad_group(record, payload), 0U);
}

}  // namespace
}  // namespace ron::volume
