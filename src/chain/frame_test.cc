#include "chain/frame.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace ron::chain {
namespace {

const LogIdentity kLog = {std::byte{1}, std::byte{2}, std::byte{3}};

TEST(SegmentHead, IsReadAsItWasWrittenAndNoByteOfItMayChange) {
  const SegmentHead head{kLog, 17, {5, 4096}};
  std::string text = encode(head);
  ASSERT_EQ(text.size(), kSegmentHeadBytes);
  EXPECT_EQ(parse_segment_head(base::as_bytes(text)), head);
  EXPECT_FALSE(parse_segment_head(base::as_bytes(text).first(kSegmentHeadBytes - 1)));
  for (std::size_t i = 0; i < 8 * text.size(); ++i) {
    text[i / 8] = static_cast<char>(text[i / 8] ^ (1 << i % 8));
    EXPECT_FALSE(parse_segment_head(base::as_bytes(text))) << i;
    text[i / 8] = static_cast<char>(text[i / 8] ^ (1 << i % 8));
  }
}

TEST(SegmentName, HasTwentyDigits) {
  EXPECT_EQ(segment_name(0), "00000000000000000000.seg");
  EXPECT_EQ(segment_name(UINT64_MAX), "18446744073709551615.seg");
  EXPECT_EQ(parse_segment_name(segment_name(UINT64_MAX)), UINT64_MAX);
  for (const std::string_view bad :
       {"18446744073709551616.seg", "0.seg", "00000000000000000000.seg.new",
        "0000000000000000000x.seg", "00000000000000000000.sek", "", "-0000000000000000001.seg"}) {
    EXPECT_FALSE(parse_segment_name(bad)) << bad;
  }
}

TEST(LogIdentity, HasOneSpelling) {
  const std::string text = encode(kLog);
  EXPECT_EQ(parse_log_identity(text), kLog);
  EXPECT_FALSE(parse_log_identity(text + "\n"));
  EXPECT_FALSE(parse_log_identity(text.substr(1)));
  LogIdentity letters{};
  letters.fill(std::byte{0xab});
  std::string upper = encode(letters);
  upper[upper.size() - 2] = 'B';
  EXPECT_FALSE(parse_log_identity(upper));
}

// The frames of a batch with their heads, as a reader finds them.
std::vector<std::string> read_back(base::ByteView bytes, FrameSpot spot, std::uint64_t number,
                                   std::uint64_t durable_before,
                                   std::span<const std::uint32_t> offsets) {
  std::vector<std::string> frames;
  for (const std::uint32_t offset : offsets) {
    RC_ASSERT(offset == spot.offset);
    const auto head = parse_frame_head(bytes, spot);
    RC_ASSERT(head.has_value());
    RC_ASSERT(head->number == number++);
    RC_ASSERT(head->durable_before == durable_before);
    RC_ASSERT(head->stored_bytes() % 8 == 0U);
    const base::ByteView stored = bytes.first(head->stored_bytes());
    RC_ASSERT(frame_checks(*head, stored));
    RC_ASSERT(stored.back() != std::byte{0});
    frames.emplace_back(base::as_text(frame_bytes(*head, stored)));
    bytes = bytes.subspan(stored.size());
    spot.offset += stored.size();
  }
  RC_ASSERT(bytes.empty());
  return frames;
}

TEST(Frame, ABatchIsReadAsItWasWritten) {
  EXPECT_TRUE(rc::check(
      [](const std::vector<std::string>& frames, std::uint64_t number, std::uint16_t place) {
        const FrameSpot spot{kLog, 3, place * 8U};
        std::vector<std::uint32_t> offsets(frames.size());
        const base::Buffer batch = encode_frames(frames, number, spot, offsets);
        RC_ASSERT(read_back(batch.view(), spot, number, spot.offset, offsets) == frames);
      }));
}

TEST(Frame, NoBitOfItMayChange) {
  const std::vector<std::string> frames = {"some bytes"};
  const FrameSpot spot{kLog, 3, 64};
  std::vector<std::uint32_t> offsets(1);
  base::Buffer batch = encode_frames(frames, 7, spot, offsets);
  for (std::size_t i = 0; i < 8 * batch.size(); ++i) {
    batch.data()[i / 8] ^= std::byte{1} << i % 8;
    const auto head = parse_frame_head(batch.view(), spot);
    EXPECT_TRUE(!head || (i / 8 >= kFrameHeadBytes && !frame_checks(*head, batch.view()))) << i;
    batch.data()[i / 8] ^= std::byte{1} << i % 8;
  }
}

TEST(Frame, IsOneOnlyWhereItWasWritten) {
  const std::vector<std::string> frames = {"some bytes"};
  const FrameSpot spot{kLog, 3, 64};
  std::vector<std::uint32_t> offsets(1);
  const base::Buffer batch = encode_frames(frames, 7, spot, offsets);
  EXPECT_TRUE(parse_frame_head(batch.view(), spot));
  EXPECT_FALSE(parse_frame_head(batch.view(), {kLog, 3, 72}));
  EXPECT_FALSE(parse_frame_head(batch.view(), {kLog, 4, 64}));
  EXPECT_FALSE(parse_frame_head(batch.view(), {LogIdentity{}, 3, 64}));
}

}  // namespace
}  // namespace ron::chain
