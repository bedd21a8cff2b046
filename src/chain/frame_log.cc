#include "chain/frame_log.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <mutex>
#include <utility>

#include "runtime/deadline.h"
#include "volume/files.h"

namespace ron::chain {
namespace {

using base::Code;
using base::Result;
using platform::Task;

// How far a segment is written ahead: as much again as it holds, within these.
constexpr std::uint64_t kLeastAheadBytes = 64 * base::kKiB;
constexpr std::uint64_t kMostAheadBytes = 1 * base::kMiB;

base::Error damaged_frame(std::uint64_t number) {
  return base::Error(Code::IntegrityFail,
                     "frame " + std::to_string(number) + " is damaged: its bytes do not check")
      .with("frame", std::to_string(number));
}

// Adds the frames of a run that are sound, up to the first that is not. False if one is not.
bool take_frames(const FrameRun& run, const LogIdentity& log, std::uint64_t number,
                 base::ByteView bytes, std::vector<std::string>& out) {
  FrameSpot spot{log, run.segment, run.offset};
  for (std::size_t i = 0; i < run.frames; ++i) {
    const std::optional<FrameHead> head = parse_frame_head(bytes, spot);
    if (!head || head->number != number + i || head->stored_bytes() > bytes.size()) return false;
    const base::ByteView stored = bytes.first(static_cast<std::size_t>(head->stored_bytes()));
    if (!frame_checks(*head, stored)) return false;
    out.emplace_back(base::as_text(frame_bytes(*head, stored)));
    bytes = bytes.subspan(stored.size());
    spot.offset += stored.size();
  }
  return true;
}

}  // namespace

FrameLog::FrameLog(FrameLogOptions options)
    : options_(std::move(options)),
      folder_(options_.directory + "/" + std::string(kSegmentsName)),
      lock_(*options_.lock) {
  assert(options_.segment_bytes <= kMaxSegmentBytes);
}

std::string FrameLog::path_of(std::uint64_t segment) const {
  return folder_ + "/" + segment_name(segment);
}

// A segment has its name only when its head is on the medium. It may take the place of one without
// frames that begins with the same number: the bytes of that, whatever they are, go with it.
Task<Result<void>> FrameLog::begin_segment(std::uint64_t first, LogEnd closes) {
  const std::string head = encode(SegmentHead{identity_, first, closes});
  base::Buffer bytes(head.size());
  std::memcpy(bytes.data(), head.data(), head.size());
  // An aborted attempt may have left a file that the kernel still changes; this one is another.
  static_cast<void>(co_await options_.disk->remove(path_of(first) + ".new"));
  auto named =
      co_await volume::replace_file(options_.disk, folder_, segment_name(first), std::move(bytes));
  if (!named) co_return named;
  auto file =
      co_await options_.disk->open(path_of(first), {platform::OpenMode::WriteExisting, false});
  if (!file) co_return base::fail(std::move(file.error()));
  // What does not count need not stay; if it does, nobody looks at it.
  if (!current_.offsets.empty() && ahead_ > current_.end) {
    static_cast<void>(co_await current_.file->truncate(current_.end));
  }
  ahead_ = kSegmentHeadBytes;
  closes_ = closes;
  const std::lock_guard guard(lock_);
  if (!current_.offsets.empty()) {
    tables_.put(std::make_shared<SegmentTable>(std::move(current_)));
  }
  current_ = {first, std::move(*file), {}, kSegmentHeadBytes};
  if (segments_.empty() || segments_.back() != first) segments_.push_back(first);
  first_.store(segments_.front(), std::memory_order_release);
  next_.store(first, std::memory_order_release);
  co_return Result<void>();
}

Task<Result<void>> FrameLog::append(std::vector<std::string> frames) {
  std::uint64_t bytes = 0;
  for (const std::string& frame : frames) {
    bytes += stored_frame_bytes(frame.size());
    if (frame.size() > kMaxFrameBytes || bytes > kMaxBatchBytes) {
      co_return base::fail(Code::Malformed, "too large for a frame of the log, or for one write");
    }
  }
  if (in_doubt_) {
    co_return base::fail(Code::StorageBusy, "the log takes nothing until it is repaired");
  }
  if (frames.empty()) co_return Result<void>();
  in_doubt_ = true;
  auto written = co_await write(std::move(frames), bytes);
  in_doubt_ = !written.has_value();
  co_return written;
}

Task<Result<void>> FrameLog::write(std::vector<std::string> frames, std::uint64_t bytes) {
  if (!current_.offsets.empty() && current_.end + bytes > options_.segment_bytes) {
    auto begun = co_await begin_segment(next(), {current_.first, current_.end});
    if (!begun) co_return begun;
  }
  auto grown = co_await write_ahead(current_.end + bytes);
  if (!grown) co_return grown;
  std::vector<std::uint32_t> offsets(frames.size());
  base::Buffer batch =
      encode_frames(frames, next(), {identity_, current_.first, current_.end}, offsets);
  const std::shared_ptr<platform::File> file = current_.file;
  auto written = co_await file->write_at(current_.end, std::move(batch));
  if (!written) co_return base::fail(std::move(written.error()));
  auto synced = co_await file->sync();
  if (!synced) co_return synced;
  const std::lock_guard guard(lock_);
  current_.offsets.insert(current_.offsets.end(), offsets.begin(), offsets.end());
  current_.end += static_cast<std::uint32_t>(bytes);
  next_.store(current_.next(), std::memory_order_release);
  co_return Result<void>();
}

// A file that grows with each batch makes each sync find room for it and write the inode, which on
// a busy disk takes ten times as long as the bytes do. So it grows by zeros, ahead of the frames
// and seldom; the sync of the batch is theirs, too. Lost sectors read as zeros anyway.
Task<Result<void>> FrameLog::write_ahead(std::uint64_t end) {
  if (end <= ahead_) co_return Result<void>();
  ahead_ = end;
  const std::uint64_t step = std::clamp<std::uint64_t>(end, kLeastAheadBytes, kMostAheadBytes);
  const std::uint64_t until = std::min(end + step, options_.segment_bytes);
  if (until <= end) co_return Result<void>();
  base::Buffer zeros(static_cast<std::size_t>(until - end));
  std::memset(zeros.data(), 0, zeros.size());
  auto written = co_await current_.file->write_at(end, std::move(zeros));
  if (!written) co_return base::fail(std::move(written.error()));
  ahead_ = until;
  co_return Result<void>();
}

// Nobody appends behind bytes of unknown state: after a failed sync the kernel may show bytes that
// the medium does not have, and an aborted write may still happen. So the log goes on in a new
// segment, whose head says where it ended.
Task<Result<void>> FrameLog::repair() {
  if (!in_doubt_) co_return Result<void>();
  if (current_.file == nullptr) co_return base::fail(Code::Internal, "the log is not open");
  const bool empty = current_.offsets.empty();
  auto begun =
      co_await begin_segment(next(), empty ? closes_ : LogEnd{current_.first, current_.end});
  if (!begun) co_return begun;
  in_doubt_ = false;
  co_return Result<void>();
}

Task<Result<FrameRun>> FrameLog::find_run(std::uint64_t number, std::size_t count,
                                          std::size_t max_bytes) {
  std::uint64_t segment = 0;
  std::uint64_t until = 0;
  {
    const std::lock_guard guard(lock_);
    const auto behind = std::ranges::upper_bound(segments_, number);
    if (behind == segments_.begin() || number >= current_.next()) {
      co_return base::fail(Code::NotFound, "the log has no frame " + std::to_string(number));
    }
    if (behind == segments_.end()) co_return current_.run(number, count, max_bytes);
    segment = *(behind - 1);
    until = *behind;
    if (const TablePtr table = tables_.find(segment)) {
      co_return table->run(number, count, max_bytes);
    }
  }
  auto table = co_await load_table(segment, until);
  if (!table) co_return base::fail(std::move(table.error()));
  co_return (*table)->run(number, count, max_bytes);
}

Task<Result<TablePtr>> FrameLog::load_table(std::uint64_t segment, std::uint64_t until) {
  const runtime::Semaphore::Permit permit = co_await loading_.acquire(runtime::Deadline());
  {
    const std::lock_guard guard(lock_);
    if (TablePtr table = tables_.find(segment)) co_return table;
  }
  auto file =
      co_await options_.disk->open(path_of(segment), {platform::OpenMode::ReadExisting, false});
  if (!file) co_return base::fail(std::move(file.error()));
  auto table = co_await read_table(std::move(*file), identity_, segment, until);
  if (!table) co_return table;
  const std::lock_guard guard(lock_);
  const bool listed = !segments_.empty() && segment >= segments_.front();
  if (listed) tables_.put(*table);
  co_return table;
}

Task<Result<std::vector<std::string>>> FrameLog::read(std::uint64_t first, std::size_t count,
                                                      std::size_t max_bytes) {
  std::vector<std::string> frames;
  std::size_t bytes = 0;
  while (frames.size() < count) {
    const std::uint64_t number = first + frames.size();
    if (!frames.empty() && (number >= next() || bytes >= max_bytes)) break;
    auto run = co_await find_run(number, count - frames.size(), max_bytes - bytes);
    if (!run && frames.empty()) co_return base::fail(std::move(run.error()));
    if (!run || (!frames.empty() && run->bytes > max_bytes - bytes)) break;
    auto read = co_await volume::read_bytes(run->file, run->offset, run->bytes);
    if (!read && frames.empty()) co_return base::fail(std::move(read.error()));
    if (!read) break;
    bytes += run->bytes;
    const bool sound = take_frames(*run, identity_, number, read->view(), frames);
    if (!sound && frames.empty()) co_return base::fail(damaged_frame(number));
    if (!sound) break;
  }
  co_return frames;
}

Task<Result<std::uint64_t>> FrameLog::drop_below(std::uint64_t number) {
  for (;;) {
    std::uint64_t oldest = 0;
    {
      const std::lock_guard guard(lock_);
      if (segments_.size() < 2 || segments_[1] > number) break;
      oldest = segments_.front();
    }
    auto removed = co_await options_.disk->remove(path_of(oldest));
    // An earlier attempt may have come so far.
    if (!removed && removed.error().code != Code::NotFound) {
      co_return base::fail(std::move(removed.error()));
    }
    // One by one, so that no crash can leave an older segment behind a newer one that is gone.
    auto synced = co_await options_.disk->sync_directory(folder_);
    if (!synced) co_return base::fail(std::move(synced.error()));
    const std::lock_guard guard(lock_);
    segments_.erase(segments_.begin());
    tables_.forget(oldest);
    first_.store(segments_.front(), std::memory_order_release);
  }
  co_return first();
}

Task<Result<void>> FrameLog::close() {
  if (current_.file != nullptr) {
    auto repaired = co_await repair();
    if (!repaired) co_return repaired;
    // With its end on record, a last batch that is cut off later is damage and not a torn write.
    // Without, all of it is there nevertheless.
    if (!current_.offsets.empty()) {
      static_cast<void>(co_await begin_segment(next(), {current_.first, current_.end}));
    }
  }
  in_doubt_ = true;
  claim_ = {};
  const std::lock_guard guard(lock_);
  segments_.clear();
  current_ = {};
  tables_.clear();
  co_return Result<void>();
}

}  // namespace ron::chain
