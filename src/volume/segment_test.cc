#include "volume/segment.h"

#include <gtest/gtest.h>

#include "b3/hash.h"
#include "volume/test_support.h"

namespace ron::volume {
namespace {

using platform::Task;

const Seal kSeal{std::byte{1}, std::byte{2}};
constexpr std::uint64_t kNumber = 4;

// A segment in memory, for a file.
struct Image {
  std::vector<std::byte> bytes = std::vector<std::byte>(kSegmentHeadBytes);
  std::vector<std::uint64_t> offsets;

  void add(std::size_t payload_bytes) {
    const std::vector<std::byte> payload = sample_bytes(payload_bytes, offsets.size());
    Record record;
    record.address = b3::hash(payload);
    record.length = payload_bytes;
    record.payload_bytes = static_cast<std::uint32_t>(payload_bytes);
    record.sequence = offsets.size();
    record.groups.resize(groups_stored(RecordKind::Object, payload_bytes));
    if (!record.groups.empty()) b3::group_values(payload, 0, record.groups);
    const std::size_t at = bytes.size();
    offsets.push_back(at);
    bytes.resize(at + record.stored_bytes());
    encode(record, {kSeal, kNumber, at}, std::span(bytes).subspan(at, record.head_bytes()));
    std::ranges::copy(payload,
                      bytes.begin() + static_cast<std::ptrdiff_t>(at + record.head_bytes()));
  }
};

Task<void> scan(platform::Disk* disk, const Image* image, std::vector<std::uint64_t>* sequences,
                std::uint64_t* skipped) {
  auto file = co_await disk->open("/s", {platform::OpenMode::CreateOrOpen, false});
  auto written = co_await (*file)->write_at(0, buffer_of(image->bytes));
  EXPECT_TRUE(written.has_value());
  auto segment = std::make_shared<Segment>(Segment{kNumber, {}, std::move(*file)});
  SegmentScanner scanner(segment, kSeal, 0, image->bytes.size());
  for (;;) {
    auto found = co_await scanner.next();
    EXPECT_TRUE(found.has_value());
    if (!found || !*found) break;
    sequences->push_back((*found)->record.sequence);
    auto payload = co_await scanner.payload((*found)->place);
    EXPECT_TRUE(payload.has_value());
    EXPECT_EQ(first_bad_group((*found)->record, payload->view()), std::nullopt);
  }
  *skipped = scanner.skipped_bytes();
}

struct Scan {
  std::vector<std::uint64_t> sequences;
  std::uint64_t skipped = 0;
  explicit Scan(const Image& image) {
    Machine machine(1);
    machine.run(scan(&machine.node.disk(), &image, &sequences, &skipped));
  }
};

TEST(SegmentScanner, FindsEveryRecord) {
  Image image;
  for (const std::size_t size : {0U, 5U, 70000U, 300000U, 2000000U, 17U}) image.add(size);
  const Scan seen(image);
  EXPECT_EQ(seen.sequences, (std::vector<std::uint64_t>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(seen.skipped, 0U);
}

TEST(SegmentScanner, SkipsADamagedRecord) {
  for (const std::size_t damaged : {0U, 1U, 2U}) {
    Image image;
    for (const std::size_t size : {10U, 300000U, 20U, 30U}) image.add(size);
    image.bytes[image.offsets[damaged] + 20] ^= std::byte{1};
    const Scan seen(image);
    EXPECT_EQ(seen.sequences.size(), 3U);
    EXPECT_EQ(std::ranges::count(seen.sequences, damaged), 0);
    EXPECT_EQ(seen.skipped, image.offsets[damaged + 1] - image.offsets[damaged]);
  }
}

Task<void> scan_broken(platform::sim::SimDisk* disk, const Image* image,
                       std::vector<std::uint64_t> broken, std::vector<std::uint64_t>* sequences,
                       std::uint64_t* unreadable, bool* gave_up) {
  auto file = co_await disk->open("/s", {platform::OpenMode::CreateOrOpen, false});
  auto written = co_await (*file)->write_at(0, buffer_of(image->bytes));
  EXPECT_TRUE(written.has_value());
  for (const std::uint64_t at : broken) EXPECT_TRUE(disk->break_sector("/s", at));
  auto segment = std::make_shared<Segment>(Segment{kNumber, {}, std::move(*file)});
  SegmentScanner scanner(segment, kSeal, 0, image->bytes.size());
  for (;;) {
    auto found = co_await scanner.next();
    *gave_up = !found;
    if (!found || !*found) break;
    sequences->push_back((*found)->record.sequence);
  }
  *unreadable = scanner.unreadable_bytes();
}

struct BrokenScan {
  std::vector<std::uint64_t> sequences;
  std::uint64_t unreadable = 0;
  bool gave_up = false;
  BrokenScan(const Image& image, std::vector<std::uint64_t> broken) {
    Machine machine(1);
    machine.run(scan_broken(&machine.node.disk(), &image, std::move(broken), &sequences,
                            &unreadable, &gave_up));
  }
};

TEST(SegmentScanner, PassesOverAPageThatCannotBeRead) {
  Image image;
  for (int i = 0; i < 200; ++i) image.add(3000);
  for (const std::size_t hit : {0U, 1U, 50U, 100U, 199U}) {
    const BrokenScan seen(image, {image.offsets[hit] + 100});
    EXPECT_FALSE(seen.gave_up);
    EXPECT_EQ(seen.unreadable, base::Buffer::kPageBytes);
    EXPECT_EQ(std::ranges::count(seen.sequences, hit), 0);
    EXPECT_GE(seen.sequences.size(), 197U) << "only what begins in the page";
  }
}

TEST(SegmentScanner, DoesNotMindWhatALargePayloadLosesInTheMiddle) {
  Image image;
  for (const std::size_t size : {10U, 300000U, 20U}) image.add(size);
  const BrokenScan seen(image, {image.offsets[1] + 150000});
  EXPECT_EQ(seen.sequences.size(), 3U);
  EXPECT_EQ(seen.unreadable, 0U);
}

TEST(SegmentScanner, GivesUpOnASegmentOfWhichTooMuchCannotBeRead) {
  Image image;
  for (int i = 0; i < 1000; ++i) image.add(3000);
  std::vector<std::uint64_t> broken;
  for (std::uint64_t at = 100'000; at < 2'000'000; at += 512) broken.push_back(at);
  const BrokenScan seen(image, broken);
  EXPECT_TRUE(seen.gave_up);
  EXPECT_EQ(seen.unreadable, SegmentScanner::kMostUnreadableBytes);
}

TEST(SegmentScanner, StopsWhereTheFileIsCutOff) {
  Image image;
  for (int i = 0; i < 5; ++i) image.add(1000);
  image.bytes.resize(image.bytes.size() - 100);
  EXPECT_EQ(Scan(image).sequences.size(), 4U);
}

TEST(SegmentScanner, BytesOfAClientAreNoRecords) {
  // An object whose bytes are themselves records, made without knowing the seal.
  Image inner;
  inner.add(64);
  Image image;
  image.add(8);
  image.bytes.insert(image.bytes.end(), inner.bytes.begin() + kSegmentHeadBytes, inner.bytes.end());
  EXPECT_EQ(Scan(image).sequences.size(), 1U);
}

TEST(SegmentHead, ParsesWhatItEncoded) {
  const SegmentHead head{{base::Ulid(1, 2, 3), kSeal}, 7, {5, 4096}};
  std::string bytes = encode(head);
  ASSERT_EQ(bytes.size(), kSegmentHeadBytes);
  EXPECT_EQ(parse_segment_head(base::as_bytes(bytes)), head);
  for (char& byte : bytes) {
    byte = static_cast<char>(byte ^ 1);
    EXPECT_FALSE(parse_segment_head(base::as_bytes(bytes)).has_value());
    byte = static_cast<char>(byte ^ 1);
  }
}

TEST(SegmentName, IsCanonical) {
  EXPECT_EQ(segment_name(1), "0000000001.seg");
  EXPECT_EQ(parse_segment_name("0000000001.seg"), 1U);
  EXPECT_EQ(parse_segment_name(segment_name(12345678901)), 12345678901U);
  for (const char* name : {"1.seg", "000000000x.seg", "00000000001.seg", "0000000001", ".seg"}) {
    EXPECT_FALSE(parse_segment_name(name).has_value()) << name;
  }
}

TEST(Identity, ParsesWhatItEncoded) {
  const Identity identity{base::Ulid(9, 8, 7), kSeal};
  EXPECT_EQ(parse_identity(encode(identity)), identity);
  EXPECT_FALSE(parse_identity(encode(identity) + "\n").has_value());
}

}  // namespace
}  // namespace ron::volume
