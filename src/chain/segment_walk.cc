#include "chain/segment_walk.h"

#include <algorithm>
#include <utility>

#include "chain/frame_scanner.h"
#include "volume/files.h"
#include "volume/tail.h"

namespace ron::chain {

using base::Code;
using base::Result;
using platform::Task;

namespace {

constexpr std::uint64_t kBlankWindowBytes = 256 * base::kKiB;

}  // namespace

Task<Result<OpenSegment>> open_segment(platform::Disk* disk, std::string folder,
                                       std::uint64_t first, std::optional<LogIdentity> log) {
  OpenSegment segment;
  segment.path = folder + "/" + segment_name(first);
  auto file = co_await disk->open(segment.path, {platform::OpenMode::ReadExisting, false});
  if (!file) co_return base::fail(std::move(file.error()));
  segment.file = std::move(*file);
  auto size = co_await segment.file->size();
  if (!size) co_return base::fail(std::move(size.error()));
  segment.bytes = *size;
  auto bytes = co_await volume::read_bytes(segment.file, 0, kSegmentHeadBytes);
  if (!bytes) co_return base::fail(std::move(bytes.error()));
  const std::optional<SegmentHead> head = parse_segment_head(bytes->view());
  if (!head || head->first != first) {
    co_return base::fail(base::Error(Code::IntegrityFail, "'" + segment.path +
                                                              "': the head of the segment is "
                                                              "damaged")
                             .with("file", segment.path)
                             .with("frame", std::to_string(first))
                             .with("offset", "0"));
  }
  if (log && head->log != *log) {
    co_return base::fail(base::Error(Code::IntegrityFail, "'" + segment.path +
                                                              "' belongs to another log than the "
                                                              "file LOG beside its folder")
                             .with("file", segment.path)
                             .with("frame", std::to_string(first))
                             .with("offset", "0"));
  }
  segment.head = *head;
  co_return segment;
}

Task<Result<WalkedSegment>> walk_segment(const OpenSegment* segment, std::uint64_t from,
                                         std::uint64_t until, const FrameVisitor* visit) {
  WalkedSegment walked;
  walked.table = std::make_shared<SegmentTable>(segment->head.first, segment->file);
  SegmentTable& table = *walked.table;
  const std::uint64_t most = std::min<std::uint64_t>(segment->bytes, UINT32_MAX);
  FrameScanner scanner(segment->file, segment->head.log, segment->head.first, kSegmentHeadBytes,
                       most, FrameScanner::Depth::Bytes);
  while (table.next() < until) {
    auto found = co_await scanner.next();
    if (!found) co_return base::fail(std::move(found.error()));
    if (!*found || !(*found)->sound) break;
    const FoundFrame& frame = **found;
    if (frame.offset != table.end || frame.head.number != table.next()) break;
    if (frame.head.number >= from) {
      Result<void> visited = (*visit)({frame.head.number, frame.bytes});
      if (!visited) co_return base::fail(std::move(visited.error()));
    }
    table.offsets.push_back(static_cast<std::uint32_t>(frame.offset));
    table.end = static_cast<std::uint32_t>(frame.end());
    walked.last_batch = frame.head.durable_before;
  }
  co_return walked;
}

Task<Result<bool>> is_torn(const OpenSegment* segment, std::uint64_t end) {
  FrameScanner scanner(segment->file, segment->head.log, segment->head.first, end, segment->bytes,
                       FrameScanner::Depth::Heads);
  std::uint64_t reach = kFrameHeadBytes;  // how far the frame at `end` goes at least
  for (;;) {
    auto found = co_await scanner.next();
    if (!found) co_return base::fail(std::move(found.error()));
    if (!*found) break;
    // Somebody wrote it after everything up to there was synced.
    if ((*found)->head.durable_before > end) co_return false;
    if ((*found)->offset == end) reach = (*found)->head.stored_bytes();
  }
  if (end + reach > segment->bytes) co_return true;
  // The rest of the last sector was written together with it.
  const std::uint64_t sectors =
      std::min(segment->bytes, (end + reach + volume::kSectorBytes - 1) / volume::kSectorBytes *
                                   volume::kSectorBytes);
  auto bytes =
      co_await volume::read_bytes(segment->file, end, static_cast<std::size_t>(sectors - end));
  if (!bytes) co_return base::fail(std::move(bytes.error()));
  co_return volume::has_lost_sector(bytes->view(), end);
}

Task<Result<std::uint64_t>> end_of_bytes(const OpenSegment* segment, std::uint64_t end) {
  std::uint64_t last = end;
  for (std::uint64_t at = end; at < segment->bytes;) {
    const std::uint64_t wanted = std::min(kBlankWindowBytes, segment->bytes - at);
    auto read = co_await volume::read_bytes(segment->file, at, static_cast<std::size_t>(wanted));
    if (!read) co_return base::fail(std::move(read.error()));
    if (read->size() == 0) break;
    const base::ByteView bytes = read->view();
    const auto found = std::ranges::find_if(bytes.rbegin(), bytes.rend(),
                                            [](std::byte byte) { return byte != std::byte{0}; });
    if (found != bytes.rend()) last = at + static_cast<std::uint64_t>(bytes.rend() - found);
    at += bytes.size();
  }
  // A sector is written as a whole, with the zeros that it may end with.
  const std::uint64_t sectors =
      (last + volume::kSectorBytes - 1) / volume::kSectorBytes * volume::kSectorBytes;
  co_return last == end ? end : std::min(sectors, segment->bytes);
}

base::Error damage_error(const OpenSegment& segment, std::uint64_t number, std::uint64_t offset,
                         std::string_view advice) {
  return base::Error(Code::IntegrityFail,
                     "'" + segment.path + "': frame " + std::to_string(number) + " at offset " +
                         std::to_string(offset) + " is damaged" + std::string(advice))
      .with("file", segment.path)
      .with("frame", std::to_string(number))
      .with("offset", std::to_string(offset));
}

}  // namespace ron::chain
