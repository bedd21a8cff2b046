// The part of FrameLog that finds a log in its directory, decides where it ends and makes that
// last.
#include <algorithm>
#include <mutex>
#include <utility>

#include "chain/frame_log.h"
#include "volume/files.h"
#include "volume/quarantine_files.h"

namespace ron::chain {
namespace {

using base::Code;
using base::Result;
using platform::Task;

constexpr std::string_view kUnfinished = ".seg.new";

base::Error missing_segment(const OpenSegment& behind) {
  const std::string name = segment_name(behind.head.closes.segment);
  return base::Error(Code::IntegrityFail, "the segment '" + name + "' is missing: '" + behind.path +
                                              "' goes on behind it")
      .with("file", name)
      .with("frame", std::to_string(behind.head.closes.segment));
}

std::string advice_for_end(std::uint64_t end) {
  return ": it may have been acknowledged, so nothing is cut off. Restore the file from a copy, or "
         "cut it to " +
         std::to_string(end) + " bytes to give up this frame and all behind it";
}

}  // namespace

Task<Result<void>> FrameLog::open(std::uint64_t from, FrameVisitor visit) {
  platform::Disk* const disk = options_.disk;
  auto made =
      co_await volume::make_directories(disk, options_.directory, std::string(kSegmentsName));
  if (!made) co_return made;
  auto claim =
      co_await volume::claim_file(disk, options_.directory + "/" + std::string(kLogName),
                                  "another process uses the log in '" + options_.directory + "'");
  if (!claim) co_return base::fail(std::move(claim.error()));
  claim_ = std::move(*claim);
  auto names = co_await disk->list(folder_);
  if (!names) co_return base::fail(std::move(names.error()));
  {
    const std::lock_guard guard(lock_);
    for (const platform::DirectoryEntry& entry : *names) {
      if (const auto first = parse_segment_name(entry.name)) segments_.push_back(*first);
    }
    std::ranges::sort(segments_);
  }
  for (const platform::DirectoryEntry& entry : *names) {
    if (!entry.name.ends_with(kUnfinished)) continue;
    static_cast<void>(co_await disk->remove(folder_ + "/" + entry.name));
  }
  auto found = co_await find_identity();
  if (!found) co_return found;
  // The file LOG comes last: where it is, there are segments.
  if (segments_.empty()) {
    auto begun = co_await begin_segment(0, {});
    if (!begun) co_return begun;
  } else {
    auto recovered = co_await recover(from, &visit);
    if (!recovered) co_return recovered;
  }
  if (claim_.is_new) {
    auto named = co_await volume::name_claim(disk, options_.directory, std::string(kLogName),
                                             claim_.file, encode(identity_));
    if (!named) co_return named;
  }
  in_doubt_ = false;
  co_return Result<void>();
}

// A new one, unless the segments tell the old one.
Task<Result<void>> FrameLog::find_identity() {
  const std::string path = options_.directory + "/" + std::string(kLogName);
  if (!claim_.is_new) {
    auto text = co_await claim_.file->read_at(0, base::Buffer(base::Buffer::kPageBytes));
    if (!text) co_return base::fail(std::move(text.error()));
    const auto identity = parse_log_identity(base::as_text(text->view()));
    if (!identity) {
      co_return base::fail(Code::IntegrityFail,
                           "'" + path +
                               "' is damaged: without it, it is made again from the "
                               "segments");
    }
    if (segments_.empty()) {
      co_return base::fail(Code::IntegrityFail, "'" + folder_ + "' has lost its segments");
    }
    identity_ = *identity;
  } else if (segments_.empty()) {
    options_.random->fill(identity_);
  } else {
    auto last = co_await open_segment(options_.disk, folder_, segments_.back(), std::nullopt);
    if (!last) co_return base::fail(std::move(last.error()));
    identity_ = last->head.log;
  }
  co_return Result<void>();
}

Task<Result<void>> FrameLog::recover(std::uint64_t from, const FrameVisitor* visit) {
  const std::vector<std::uint64_t> firsts = segments_;
  const auto behind = std::ranges::upper_bound(firsts, from);
  std::size_t at =
      behind == firsts.begin() ? 0 : static_cast<std::size_t>(behind - firsts.begin() - 1);
  auto segment = co_await open_segment(options_.disk, folder_, firsts[at], identity_);
  if (!segment) co_return base::fail(std::move(segment.error()));
  if (at > 0 && segment->head.closes.segment != firsts[at - 1]) {
    co_return base::fail(missing_segment(*segment));
  }
  for (; at + 1 < firsts.size(); ++at) {
    auto next = co_await open_segment(options_.disk, folder_, firsts[at + 1], identity_);
    if (!next) co_return base::fail(std::move(next.error()));
    if (next->head.closes.segment != firsts[at]) co_return base::fail(missing_segment(*next));
    auto walked = co_await walk_segment(&*segment, from, firsts[at + 1], visit);
    if (!walked) co_return base::fail(std::move(walked.error()));
    const SegmentTable& table = *walked->table;
    if (table.next() != firsts[at + 1] || table.end != next->head.closes.offset) {
      co_return base::fail(
          damage_error(*segment, table.next(), table.end, ": restore the file from a copy"));
    }
    {
      const std::lock_guard guard(lock_);
      tables_.put(walked->table);
    }
    segment = std::move(next);
  }
  auto accepted = co_await accept_end(&*segment, from, visit);
  co_return accepted;
}

// Keeps a copy of what is torn. Zeros are only what was written ahead.
Task<Result<void>> FrameLog::cut_off(const OpenSegment* segment, std::uint64_t end) {
  const auto last = co_await end_of_bytes(segment, end);
  if (!last) co_return base::fail(last.error());
  if (*last == end) co_return Result<void>();
  auto kept = co_await volume::quarantine_bytes(options_.disk, options_.directory,
                                                segment_name(segment->head.first), segment->file,
                                                end, *last);
  if (!kept) co_return base::fail(std::move(kept.error()));
  if (options_.on_trouble) {
    options_.on_trouble(std::to_string(*last - end) + " bytes at the end of '" + segment->path +
                        "' are no whole frames: they are kept in the folder quarantine");
  }
  co_return Result<void>();
}

Task<Result<void>> FrameLog::accept_end(const OpenSegment* segment, std::uint64_t from,
                                        const FrameVisitor* visit) {
  auto walked = co_await walk_segment(segment, from, UINT64_MAX, visit);
  if (!walked) co_return base::fail(std::move(walked.error()));
  SegmentTable& table = *walked->table;
  if (table.end < segment->bytes) {
    auto torn = co_await is_torn(segment, table.end);
    if (!torn) co_return base::fail(std::move(torn.error()));
    if (!*torn) {
      co_return base::fail(
          damage_error(*segment, table.next(), table.end, advice_for_end(table.end)));
    }
    auto cut = co_await cut_off(segment, table.end);
    if (!cut) co_return cut;
  }
  LogEnd closes = segment->head.closes;
  if (!table.offsets.empty()) {
    closes = {table.first, table.end};
    auto file =
        co_await options_.disk->open(segment->path, {platform::OpenMode::WriteExisting, false});
    if (!file) co_return base::fail(std::move(file.error()));
    auto secured = co_await volume::rewrite_bytes(file->get(), walked->last_batch, table.end);
    if (secured) secured = co_await (*file)->truncate(table.end);
    if (secured) secured = co_await (*file)->sync();
    if (!secured) co_return secured;
    const std::lock_guard guard(lock_);
    current_ = table;
  }
  auto begun = co_await begin_segment(table.next(), closes);
  co_return begun;
}

}  // namespace ron::chain
