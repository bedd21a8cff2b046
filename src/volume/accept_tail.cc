// The part of recovery that decides about the end of the log, and makes the decision last.
#include <algorithm>
#include <utility>

#include "volume/files.h"
#include "volume/quarantine_files.h"
#include "volume/recovery.h"

namespace ron::volume {
namespace {

using base::Code;
using base::Result;
using platform::OpenMode;
using platform::Task;

base::Buffer zeros(std::size_t bytes) {
  base::Buffer buffer(bytes);
  std::ranges::fill(buffer.span(), std::byte{0});
  return buffer;
}

// What counts is written once more, and the end is set again: the medium may have it otherwise.
// What does not count is no record from now on.
Task<Result<void>> secure(platform::File* file, const Tail* tail, std::uint64_t begin,
                          std::uint64_t end, bool cut) {
  const bool with_head = begin <= kSegmentHeadBytes && !tail->kept.empty();
  if (with_head) {
    auto written = co_await rewrite_bytes(file, 0, kSegmentHeadBytes);
    if (!written) co_return written;
  }
  for (auto first = tail->kept.begin(); first != tail->kept.end();) {
    auto last = first;
    while (last + 1 != tail->kept.end() && (last + 1)->found.place.offset == last->found.end()) {
      ++last;
    }
    auto written = co_await rewrite_bytes(file, first->found.place.offset, last->found.end());
    if (!written) co_return written;
    first = last + 1;
  }
  for (const FoundRecord& record : tail->left_out) {
    auto blanked = co_await file->write_at(record.place.offset, zeros(kFixedHeadBytes));
    if (!blanked) co_return base::fail(std::move(blanked.error()));
  }
  if (cut) {
    auto set = co_await file->truncate(end);
    if (!set) co_return set;
  }
  auto synced = co_await file->sync();
  co_return synced;
}

}  // namespace

// Applies the records behind `begin` that count; where the log ends.
Task<Result<std::uint64_t>> Recovery::apply_tail(SegmentScanner* scanner,
                                                 std::vector<FoundRecord> records,
                                                 Surveyed surveyed, std::uint64_t begin,
                                                 Target target) {
  auto tail = co_await judge_tail(scanner, std::move(records));
  if (!tail) co_return base::fail(std::move(tail.error()));
  Draft draft(target.index, target.ledger, target.mode);
  auto drafted = co_await draft_tail(&draft, &*tail, begin);
  if (!drafted) co_return base::fail(std::move(drafted.error()));
  const bool quarantined = co_await quarantine_rest(surveyed, &*tail, begin);
  // What cannot be read may be a record and readable tomorrow: then nothing is cut off.
  const bool cut = scanner->unreadable_bytes() == 0;
  const std::uint64_t end = cut ? tail->end(begin) : surveyed.size;
  auto file = co_await state_->host().disk.open(state_->segment_path(surveyed.segment->number),
                                                {OpenMode::WriteExisting, false});
  if (!file) co_return base::fail(std::move(file.error()));
  auto secured = co_await secure(file->get(), &*tail, begin, end, cut && quarantined);
  if (!secured) co_return base::fail(std::move(secured.error()));
  if (tail->kept.empty()) co_return end;
  draft.set_position(surveyed.segment->number, end);
  auto written = co_await target.index->write(draft.take_batch());
  if (!written) co_return base::fail(std::move(written.error()));
  draft.commit(*target.ledger);
  co_return end;
}

// Applies what is kept. A commit with something missing before it counts only if its parts are
// there, else an object that nobody was told about would be there in part.
Task<Result<void>> Recovery::draft_tail(Draft* draft, Tail* tail, std::uint64_t begin) {
  std::vector<TailRecord> kept;
  std::uint64_t at = begin;
  bool missing = false;
  for (TailRecord& one : tail->kept) {
    const Record& record = one.found.record;
    missing = missing || !one.found.follows(at);
    at = one.found.end();
    if (missing && record.kind == RecordKind::Committed) {
      auto whole = co_await composes(draft, *record.address, record.length, *record.upload);
      if (!whole) co_return base::fail(std::move(whole.error()));
      if (!*whole) {
        tail->left_out.push_back(std::move(one.found));
        continue;
      }
    }
    auto applied = co_await draft->apply(&record, one.found.place);
    if (!applied) co_return applied;
    kept.push_back(std::move(one));
  }
  tail->kept = std::move(kept);
  auto withheld = co_await withhold_rotten(draft, tail);
  co_return withheld;
}

// Objects whose bytes have rotted stay known, so that they are answered with an error rather than
// with their absence, and can be stored again.
Task<Result<void>> Recovery::withhold_rotten(Draft* draft, const Tail* tail) {
  for (const TailRecord& one : tail->kept) {
    if (!one.bad_group) continue;
    const Record& record = one.found.record;
    std::optional<base::ObjectId> id = record.address;
    Place place = one.found.place;
    for (const TailRecord& other : tail->kept) {
      const Record& commit = other.found.record;
      if (record.kind != RecordKind::Part || commit.kind != RecordKind::Committed) continue;
      if (commit.upload != record.upload) continue;
      id = commit.address;
      place = other.found.place;
    }
    if (!id) continue;
    auto object = co_await draft->object(*id);
    if (!object) co_return base::fail(std::move(object.error()));
    if (!*object || !(*object)->present() || (*object)->place != place) continue;
    draft->set_quarantine(*id, {*one.bad_group, state_->host().clock.unix_ms() / 1000});
    if (state_->on_corrupt) state_->on_corrupt(*id, *one.bad_group);
  }
  co_return Result<void>();
}

Task<bool> Recovery::quarantine_rest(Surveyed surveyed, const Tail* tail, std::uint64_t begin) {
  std::uint64_t at = begin;
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i <= tail->kept.size(); ++i) {
    const bool last = i == tail->kept.size();
    const std::uint64_t next = last ? surveyed.size : tail->kept[i].found.place.offset;
    auto copied = co_await quarantine_bytes(state_, surveyed.segment, at, next);
    if (!copied) {
      state_->report_trouble(copied.error());
      co_return false;
    }
    bytes += *copied;
    if (!last) at = tail->kept[i].found.end();
  }
  if (bytes != 0) {
    state_->report_trouble({Code::IntegrityFail,
                            std::to_string(bytes) + " bytes at the end of '" +
                                state_->segment_path(surveyed.segment->number) +
                                "' are no whole records: they are kept in the folder quarantine"});
  }
  co_return true;
}

}  // namespace ron::volume
