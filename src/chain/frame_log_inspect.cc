// The part of FrameLog that reads a log which no process uses, without changing it.
#include <algorithm>
#include <utility>

#include "chain/frame_log.h"
#include "chain/frame_scanner.h"
#include "platform/disk_error.h"
#include "volume/files.h"

namespace ron::chain {
namespace {

using base::Code;
using base::Result;
using platform::Task;

constexpr std::string_view kNoFrame = "no frame with the next number stands there";
constexpr std::string_view kBadBytes = "its bytes do not check";

class LogInspector {
 public:
  LogInspector(platform::Disk* disk, std::string directory, const FrameVisitor* visit,
               const std::function<void(const FrameDamage&)>* on_damage)
      : disk_(disk),
        directory_(std::move(directory)),
        folder_(directory_ + "/" + std::string(kSegmentsName)),
        visit_(visit),
        on_damage_(on_damage) {}

  Task<Result<LogInspection>> run();

 private:
  Task<Result<void>> read_identity(platform::File* file);
  Task<Result<void>> list_segments();
  Task<Result<void>> check_segment(std::size_t index);
  Task<Result<void>> check_frames(const OpenSegment* segment, std::uint64_t until,
                                  std::uint64_t end);
  Task<Result<bool>> ends_here(const OpenSegment* segment, std::uint64_t until, std::uint64_t at);
  void damage(std::uint64_t first, std::uint64_t frames, const std::string& file,
              std::uint64_t offset, std::string_view what) {
    ++result_.damaged;
    (*on_damage_)({first, frames, file, offset, std::string(what)});
  }

  platform::Disk* const disk_;
  const std::string directory_;
  const std::string folder_;
  const FrameVisitor* const visit_;
  const std::function<void(const FrameDamage&)>* const on_damage_;
  std::optional<LogIdentity> identity_;  // of the file LOG
  std::vector<std::uint64_t> firsts_;
  LogInspection result_;
};

Task<Result<LogInspection>> LogInspector::run() {
  const std::string path = directory_ + "/" + std::string(kLogName);
  auto claim = co_await volume::claim_shared(
      disk_, path, "another process uses the log in '" + directory_ + "'");
  if (!claim) co_return base::fail(std::move(claim.error()));
  auto read = co_await read_identity(claim->get());
  if (!read) co_return base::fail(std::move(read.error()));
  auto listed = co_await list_segments();
  if (!listed) co_return base::fail(std::move(listed.error()));
  if (firsts_.empty()) {
    damage(0, 0, folder_, 0, "the segments are missing");
    co_return result_;
  }
  result_.first = firsts_.front();
  for (std::size_t i = 0; i < firsts_.size(); ++i) {
    auto checked = co_await check_segment(i);
    if (!checked) co_return base::fail(std::move(checked.error()));
  }
  co_return result_;
}

Task<Result<void>> LogInspector::read_identity(platform::File* file) {
  const std::string path = directory_ + "/" + std::string(kLogName);
  auto text = co_await file->read_at(0, base::Buffer(base::Buffer::kPageBytes));
  if (text) identity_ = parse_log_identity(base::as_text(text->view()));
  if (!identity_) damage(0, 0, path, 0, "it is not a log's, or cannot be read");
  co_return Result<void>();
}

// In order. What a damaged file LOG does not tell, the last segment whose head checks does.
Task<Result<void>> LogInspector::list_segments() {
  auto names = co_await disk_->list(folder_);
  if (!names && names.error().code != Code::NotFound) {
    co_return base::fail(std::move(names.error()));
  }
  if (!names) co_return Result<void>();
  for (const platform::DirectoryEntry& entry : *names) {
    if (const auto first = parse_segment_name(entry.name)) firsts_.push_back(*first);
  }
  std::ranges::sort(firsts_);
  for (std::size_t i = firsts_.size(); i-- > 0 && !identity_;) {
    auto segment = co_await open_segment(disk_, folder_, firsts_[i], std::nullopt);
    if (segment) identity_ = segment->head.log;
  }
  co_return Result<void>();
}

Task<Result<void>> LogInspector::check_segment(std::size_t index) {
  const std::uint64_t first = firsts_[index];
  const bool last = index + 1 == firsts_.size();
  const std::uint64_t until = last ? UINT64_MAX : firsts_[index + 1];
  OpenSegment segment;
  auto opened = co_await open_segment(disk_, folder_, first, identity_);
  if (opened) {
    segment = std::move(*opened);
  } else {
    // Its frames may be well all the same: they check by themselves.
    damage(first, 0, segment_name(first), 0, opened.error().message);
    segment.path = folder_ + "/" + segment_name(first);
    segment.head = {identity_.value_or(LogIdentity{}), first, {}};
    auto file = co_await disk_->open(segment.path, {platform::OpenMode::ReadExisting, false});
    if (!file) co_return Result<void>();
    segment.file = std::move(*file);
    auto size = co_await segment.file->size();
    if (!size) co_return Result<void>();
    segment.bytes = *size;
  }
  std::uint64_t end = segment.bytes;
  if (!last) {
    auto next = co_await open_segment(disk_, folder_, until, identity_);
    if (next && next->head.closes.segment == first) end = std::min(end, next->head.closes.offset);
  }
  auto checked = co_await check_frames(&segment, until, end);
  if (checked || !platform::is_medium_error(checked.error())) co_return checked;
  const std::uint64_t lost = last ? 1 : until - result_.next;
  damage(result_.next, lost, segment_name(first), 0, checked.error().message);
  if (!last) result_.next = until;
  co_return Result<void>();
}

// Nothing behind `at` counts: it is the torn end of the log.
Task<Result<bool>> LogInspector::ends_here(const OpenSegment* segment, std::uint64_t until,
                                           std::uint64_t at) {
  if (until != UINT64_MAX) co_return false;
  auto torn = co_await is_torn(segment, at);
  if (!torn || !*torn) co_return torn;
  const auto last = co_await end_of_bytes(segment, at);
  if (!last) co_return base::fail(last.error());
  result_.torn_bytes = *last - at;
  co_return torn;
}

Task<Result<void>> LogInspector::check_frames(const OpenSegment* segment, std::uint64_t until,
                                              std::uint64_t end) {
  const std::string name = segment_name(segment->head.first);
  std::uint64_t& expected = result_.next;
  expected = segment->head.first;
  std::uint64_t at = kSegmentHeadBytes;
  bool torn_asked = false;
  FrameScanner scanner(segment->file, segment->head.log, segment->head.first, at, end,
                       FrameScanner::Depth::Bytes);
  for (;;) {
    auto found = co_await scanner.next();
    if (!found) co_return base::fail(std::move(found.error()));
    const FoundFrame* const frame = *found ? &**found : nullptr;
    const bool follows =
        frame != nullptr && frame->offset == at && frame->sound && frame->head.number == expected;
    if (!follows && at < end && !std::exchange(torn_asked, true)) {
      auto torn = co_await ends_here(segment, until, at);
      if (!torn) co_return base::fail(std::move(torn.error()));
      if (*torn) co_return Result<void>();
    }
    if (frame == nullptr || frame->head.number >= until) break;
    if (frame->head.number < expected) continue;
    const std::uint64_t skipped = frame->head.number - expected;
    if (skipped != 0 || frame->offset != at) damage(expected, skipped, name, at, kNoFrame);
    expected = frame->head.number + 1;
    at = frame->end();
    if (!frame->sound) {
      damage(frame->head.number, 1, name, frame->offset, kBadBytes);
      continue;
    }
    ++result_.frames;
    Result<void> visited = (*visit_)({frame->head.number, frame->bytes});
    if (!visited) co_return visited;
  }
  if (until != UINT64_MAX && expected < until) {
    damage(expected, until - expected, name, at, kNoFrame);
    expected = until;
  } else if (at < end) {
    // What was written ahead is nobody's.
    const auto last = co_await end_of_bytes(segment, at);
    if (!last) co_return base::fail(last.error());
    const bool is_last = until == UINT64_MAX;
    if (!is_last || *last != at) damage(expected, is_last ? 1 : 0, name, at, kNoFrame);
  }
  co_return Result<void>();
}

}  // namespace

Task<Result<LogInspection>> FrameLog::inspect(platform::Disk* disk, std::string directory,
                                              FrameVisitor visit,
                                              std::function<void(const FrameDamage&)> on_damage) {
  LogInspector inspector(disk, std::move(directory), &visit, &on_damage);
  auto result = co_await inspector.run();
  co_return result;
}

}  // namespace ron::chain
