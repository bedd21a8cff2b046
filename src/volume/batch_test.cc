#include "volume/batch.h"

#include <gtest/gtest.h>

#include "b3/hash.h"
#include "volume/map_key_value.h"
#include "volume/test_support.h"

namespace ron::volume {
namespace {

using platform::Task;

constexpr std::size_t kPage = base::Buffer::kPageBytes;
const Seal kSeal{std::byte{3}};
const std::vector<std::size_t> kSizes = {10, 100'000, 0, 2'000'000, 4096};

std::vector<std::byte> payload(std::size_t number) { return sample_bytes(kSizes[number], number); }

Task<void> fill(Batch* batch) {
  for (std::size_t i = 0; i < kSizes.size(); ++i) {
    const std::vector<std::byte> bytes = payload(i);
    Record record;
    record.address = b3::hash(bytes);
    record.length = bytes.size();
    record.payload_bytes = static_cast<std::uint32_t>(bytes.size());
    record.groups.resize(groups_stored(RecordKind::Object, bytes.size()));
    if (!record.groups.empty()) b3::group_values(bytes, 0, record.groups);
    auto added = co_await batch->add(std::move(record), buffer_of(bytes));
    EXPECT_TRUE(added.has_value());
  }
}

std::vector<std::byte> joined(const std::vector<base::Buffer>& pieces) {
  std::vector<std::byte> all;
  for (const base::Buffer& piece : pieces) {
    all.insert(all.end(), piece.view().begin(), piece.view().end());
  }
  return all;
}

// A batch behind a log that ends at 100.
struct Filled {
  explicit Filled(bool at_next_page)
      : batch(Draft(&index, &ledger), kSeal, LogPosition{7, 100}, at_next_page) {
    Machine(1).run(fill(&batch));
  }

  MapKeyValue index;
  Ledger ledger;
  Batch batch;
};

void expect_records(base::ByteView bytes, std::uint64_t start) {
  std::uint64_t at = 0;
  for (std::size_t i = 0; i < kSizes.size(); ++i) {
    const auto record = parse_record(bytes.subspan(at), {kSeal, 7, start + at});
    ASSERT_TRUE(record.has_value()) << i;
    EXPECT_EQ(record->durable_before, 100U);
    const std::vector<std::byte> expected = payload(i);
    EXPECT_TRUE(
        std::ranges::equal(bytes.subspan(at + record->head_bytes(), expected.size()), expected));
    at += record->stored_bytes();
  }
  EXPECT_TRUE(std::ranges::all_of(bytes.subspan(at), [](std::byte b) { return b == std::byte{}; }));
}

TEST(Batch, StandsWhereTheLogEnds) {
  Filled filled(false);
  EXPECT_EQ(filled.batch.start(), (LogPosition{7, 100}));
  const std::vector<std::byte> bytes = joined(filled.batch.take_pieces());
  EXPECT_EQ(filled.batch.end(), (LogPosition{7, 100 + bytes.size()}));
  expect_records(bytes, 100);
}

TEST(Batch, HasItsPagesToItself) {
  Filled filled(true);
  EXPECT_EQ(filled.batch.start(), (LogPosition{7, kPage}));
  const std::uint64_t end = filled.batch.end().offset;
  const std::vector<base::Buffer> pieces = in_pages(filled.batch.take_pieces());
  for (const base::Buffer& piece : pieces) {
    EXPECT_EQ(piece.size() % kPage, 0U);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(piece.data()) % kPage, 0U);
  }
  const std::vector<std::byte> bytes = joined(pieces);
  EXPECT_EQ(kPage + bytes.size(), next_page(end));
  expect_records(bytes, kPage);
}

TEST(FoundRecord, FollowsWhereItStandsOrWhereItSaysSo) {
  FoundRecord found;
  found.place.offset = 8192;
  found.record.durable_before = 5000;
  EXPECT_TRUE(found.follows(8192));
  EXPECT_TRUE(found.follows(5000));
  EXPECT_FALSE(found.follows(6000));  // something ended there, and what came behind it is missing
  found.record.durable_before = 3000;
  EXPECT_FALSE(found.follows(3000));  // more than the rest of a page is missing
}

}  // namespace
}  // namespace ron::volume
