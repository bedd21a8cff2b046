#include "volume/tail.h"

#include <algorithm>
#include <utility>

#include "platform/disk_error.h"

namespace ron::volume {
namespace {

using base::Result;
using platform::Task;

constexpr std::uint64_t kGroupsPerPart = kPartBytes / b3::kGroupBytes;

bool all_zeros(base::ByteView bytes) {
  return std::ranges::all_of(bytes, [](std::byte byte) { return byte == std::byte{}; });
}

// Rotten parts of uploads that are still open, out of what is kept.
void leave_out_open_parts(Tail& tail) {
  std::vector<UploadId> committed;
  for (const TailRecord& record : tail.kept) {
    if (record.found.record.kind == RecordKind::Committed) {
      committed.push_back(*record.found.record.upload);
    }
  }
  const auto out = [&](const TailRecord& record) {
    return record.bad_group && record.found.record.kind == RecordKind::Part &&
           std::ranges::find(committed, *record.found.record.upload) == committed.end();
  };
  for (const TailRecord& record : tail.kept) {
    if (out(record)) tail.left_out.push_back(record.found);
  }
  std::erase_if(tail.kept, out);
}

}  // namespace

bool has_lost_sector(base::ByteView bytes, std::uint64_t offset) {
  while (!bytes.empty()) {
    const auto here = static_cast<std::size_t>(
        std::min<std::uint64_t>(bytes.size(), kSectorBytes - offset % kSectorBytes));
    if (all_zeros(bytes.first(here))) return true;
    bytes = bytes.subspan(here);
    offset += here;
  }
  return false;
}

bool is_torn(const FoundRecord& found, base::ByteView payload, std::uint64_t bad_group) {
  if (payload.size() < found.record.payload_bytes) return true;
  const bool is_part = found.record.kind == RecordKind::Part;
  const std::uint64_t group = bad_group - (is_part ? found.record.part * kGroupsPerPart : 0);
  const std::uint64_t payload_at = found.place.offset + found.place.head_bytes;
  const std::uint64_t begin = payload_at + b3::group_offset(group);
  const std::uint64_t end = begin + b3::group_length(payload.size(), group);
  // The sector that the head ends in was written, since the head checks.
  const std::uint64_t at =
      std::max(begin, (payload_at + kSectorBytes - 1) / kSectorBytes * kSectorBytes);
  if (at >= end) return false;
  return has_lost_sector(payload.subspan(static_cast<std::size_t>(at - payload_at),
                                         static_cast<std::size_t>(end - at)),
                         at);
}

Task<Result<Tail>> judge_tail(SegmentScanner* scanner, std::vector<FoundRecord> records) {
  Tail tail;
  for (FoundRecord& found : records) {
    auto payload = co_await scanner->payload(found.place);
    if (!payload && !platform::is_medium_error(payload.error())) {
      co_return base::fail(std::move(payload.error()));
    }
    // What cannot be read today may be readable tomorrow: whoever reads it is told so.
    std::optional<std::uint64_t> bad;
    if (payload) bad = first_bad_group(found.record, payload->view());
    if (bad && is_torn(found, payload->view(), *bad)) {
      tail.left_out.push_back(std::move(found));
    } else {
      tail.kept.push_back({std::move(found), bad});
    }
  }
  leave_out_open_parts(tail);
  co_return tail;
}

}  // namespace ron::volume
