#include "volume/compactor.h"

#include <algorithm>
#include <utility>

#include "platform/disk_error.h"
#include "volume/quarantine_files.h"

namespace ron::volume {
namespace {

using base::Code;
using base::Result;
using platform::Task;
using namespace std::chrono_literals;

constexpr base::Duration kLookEvery = 50ms;  // for requests, which somebody waits for
constexpr base::Duration kExpireEvery = 60s;

bool is_tombstone(const Record& record) noexcept {
  return record.kind == RecordKind::Deleted || record.kind == RecordKind::UploadEnded ||
         record.kind == RecordKind::HoldRemoved;
}

}  // namespace

Task<void> Compactor::run(runtime::Shutdown shutdown) {
  platform::TimePoint compacted{};
  platform::TimePoint expired{};
  for (;;) {
    const runtime::Waited waited =
        co_await runtime::wait_stop(shutdown, runtime::Deadline::in(kLookEvery));
    if (waited == runtime::Waited::Ready) co_return;
    if (state_->recovering()) continue;
    const platform::TimePoint now = platform::Executor::current()->now();
    const bool requested = requested_.exchange(false, std::memory_order_acq_rel);
    if (requested || now - compacted >= state_->options().compact_every) {
      compacted = now;
      auto done = co_await pass(requested, shutdown);
      if (!done) state_->report_trouble(done.error());
    }
    if (now - expired >= kExpireEvery) {
      expired = now;
      static_cast<void>(co_await expire(state_->host().clock.unix_ms() / 1000, shutdown));
    }
  }
}

std::vector<std::uint64_t> Compactor::candidates(bool everything) const {
  const auto entries = state_->segment_entries();
  std::vector<std::uint64_t> numbers;
  for (const auto& [number, entry] : entries) {
    const bool newest = number == entries.rbegin()->first;
    if (newest && !everything) continue;
    if (!everything && stuck_.contains(number)) continue;
    const SegmentPtr segment = state_->segment(number);
    if (segment != nullptr && segment->set_aside) continue;
    const std::uint64_t dead = entry.dead_bytes();
    const bool enough = dead * 100 >= entry.bytes * state_->options().compact_dead_percent;
    const bool empty = entry.live_bytes == 0 && !newest;
    if (empty || (dead > 0 && (everything || enough))) numbers.push_back(number);
  }
  return numbers;
}

Task<Result<std::uint64_t>> Compactor::pass(bool everything, runtime::Shutdown shutdown) {
  if (everything) {
    stuck_.clear();
    auto sealed = co_await ask<bool>(commands_, shutdown, [](Reply<bool> reply) {
      return Command(SealCommand{std::move(reply)});
    });
    if (!sealed) co_return base::fail(std::move(sealed.error()));
  }
  std::uint64_t removed = 0;
  for (const std::uint64_t number : candidates(everything)) {
    if (shutdown.requested() || state_->recovering()) break;
    Result<bool> worth = true;
    if (everything) worth = co_await holds_dead(number, shutdown);
    Result<bool> done = false;
    if (worth && *worth) done = co_await compact(number, shutdown);
    // What one segment fails by need not be wrong with the others.
    if (!worth) state_->report_trouble(worth.error());
    if (!done) state_->report_trouble(done.error());
    removed += done && *done ? 1 : 0;
  }
  co_return removed;
}

// Pages that a batch did not fill count as dead, too: they alone are no reason to write all anew.
Task<Result<bool>> Compactor::holds_dead(std::uint64_t number, runtime::Shutdown shutdown) {
  const SegmentPtr segment = state_->segment(number);
  const auto entries = state_->segment_entries();
  const auto entry = entries.find(number);
  if (segment == nullptr || entry == entries.end()) co_return false;
  SegmentScanner scanner(segment, state_->identity.seal, 0, entry->second.bytes);
  bool any = false;
  while (!shutdown.requested()) {
    auto found = co_await scanner.next();
    if (!found) co_return base::fail(std::move(found.error()));
    if (!*found) co_return !any;
    any = true;
    auto use = co_await use_of(&(*found)->record, (*found)->place);
    if (!use) co_return base::fail(std::move(use.error()));
    if (*use != Use::Needed) co_return true;
  }
  co_return false;
}

Task<Result<Compactor::Use>> Compactor::use_of(const Record* record, Place place) {
  const Ledger no_ledger;
  const IndexPtr index = state_->index();
  Draft look(index.get(), &no_ledger);
  auto counts = co_await look.refers(record, place);
  if (!counts) co_return base::fail(std::move(counts.error()));
  if (!*counts) co_return Use::Dead;
  if (!is_tombstone(*record)) co_return Use::Needed;
  // A commit can be repeated until its upload would have expired.
  const bool remembered = record->kind == RecordKind::UploadEnded &&
                          record->expires_unix_s > state_->host().clock.unix_ms() / 1000;
  if (remembered || state_->any_segment_in(record->origin, record->killed, place.segment)) {
    co_return Use::Needed;
  }
  if (record->kind != RecordKind::HoldRemoved) co_return Use::Done;
  // The object's own record, wherever it is copied to, goes on naming the tenant it began with.
  auto object = co_await look.object(*record->address);
  if (!object) co_return base::fail(std::move(object.error()));
  const bool named = *object && (*object)->present() && (*object)->tenant == record->tenant;
  co_return named ? Use::Needed : Use::Done;
}

Task<Result<bool>> Compactor::compact(std::uint64_t number, runtime::Shutdown shutdown) {
  const SegmentPtr segment = state_->segment(number);
  const auto entries = state_->segment_entries();
  const auto entry = entries.find(number);
  if (segment == nullptr || entry == entries.end()) co_return false;
  auto findings = co_await copy_live(segment, entry->second.bytes, shutdown);
  if (!findings) co_return base::fail(std::move(findings.error()));
  if (findings->stuck) {
    stuck_.insert(number);
    co_return false;
  }
  if (shutdown.requested()) co_return false;
  for (const auto& [begin, end] : findings->gaps) {
    auto kept = co_await quarantine_bytes(state_, segment, begin, end);
    if (!kept) co_return base::fail(std::move(kept.error()));
  }
  auto dropped = co_await ask<bool>(
      commands_, shutdown,
      [number, gone = std::move(findings->tombstones)](Reply<bool> reply) mutable {
        return Command(DropCommand{number, std::move(gone), std::move(reply)});
      });
  if (!dropped && dropped.error().code == Code::PreconditionFailed) {
    stuck_.insert(number);  // something that counts was not found: a scrub will tell what
    co_return false;
  }
  if (!dropped) co_return base::fail(std::move(dropped.error()));
  reader_->forget_segment(number);
  co_return true;
}

Task<Result<Compactor::Findings>> Compactor::copy_live(SegmentPtr segment, std::uint64_t end,
                                                       runtime::Shutdown shutdown) {
  Findings findings;
  std::vector<Copy> copies;
  std::uint64_t bytes = 0;
  std::uint64_t at = kSegmentHeadBytes;
  SegmentScanner scanner(segment, state_->identity.seal, 0, end);
  while (!shutdown.requested()) {
    auto found = co_await scanner.next();
    if (!found) co_return base::fail(std::move(found.error()));
    if (!*found) break;
    if (!(*found)->follows(at)) findings.gaps.emplace_back(at, (*found)->place.offset);
    at = (*found)->end();
    Record& record = (*found)->record;
    const Place place = (*found)->place;
    auto use = co_await use_of(&record, place);
    if (!use) co_return base::fail(std::move(use.error()));
    if (*use == Use::Dead) continue;
    if (*use == Use::Done) {
      findings.tombstones.push_back({std::move(record), place});
      continue;
    }
    auto payload = co_await scanner.payload(place);
    if (!payload && !platform::is_medium_error(payload.error())) {
      co_return base::fail(std::move(payload.error()));
    }
    if (!payload) {
      findings.stuck = true;
      state_->report_trouble(payload.error());
      continue;
    }
    if (const auto bad = first_bad_group(record, payload->view())) {
      findings.stuck = true;
      static_cast<void>(co_await reader_->report_record(&record, place, *bad));
      continue;
    }
    bytes += place.stored_bytes();
    copies.push_back({std::move(record), place, std::move(*payload)});
    if (bytes >= kCopyBytes || copies.size() >= kCopyRecords) {
      auto flushed = co_await flush(&copies, shutdown);
      if (!flushed) co_return base::fail(std::move(flushed.error()));
      bytes = 0;
    }
  }
  auto flushed = co_await flush(&copies, shutdown);
  if (!flushed) co_return base::fail(std::move(flushed.error()));
  if (at < end) findings.gaps.emplace_back(at, end);
  // Records that the index does not know of may lie in what cannot be read.
  findings.stuck = findings.stuck || scanner.unreadable_bytes() != 0;
  co_return findings;
}

Task<Result<void>> Compactor::flush(std::vector<Copy>* copies, runtime::Shutdown shutdown) {
  if (copies->empty()) co_return Result<void>();
  auto copied = co_await ask<bool>(
      commands_, shutdown, [batch = std::exchange(*copies, {})](Reply<bool> reply) mutable {
        return Command(CopyCommand{std::move(batch), std::move(reply)});
      });
  if (!copied) co_return base::fail(std::move(copied.error()));
  co_return Result<void>();
}

Task<Result<std::uint64_t>> Compactor::expire(std::int64_t now_unix_s, runtime::Shutdown shutdown) {
  std::uint64_t ended = 0;
  std::string from(kUploadKeys);
  const std::string until = end_of(kUploadKeys);
  for (;;) {
    const IndexPtr index = state_->index();
    if (!index || state_->recovering()) co_return ended;
    auto page = co_await index->scan(from, until, kScanPairs);
    if (!page) co_return base::fail(std::move(page.error()));
    for (const auto& [key, value] : *page) {
      const auto id = parse_upload_key(key);
      const auto entry = parse_entry<UploadEntry>(value);
      if (!id || !entry || entry->state != UploadEntry::State::Open) continue;
      if (entry->expires_unix_s == 0 || entry->expires_unix_s > now_unix_s) continue;
      const UploadId upload = *id;
      auto aborted = co_await ask<bool>(commands_, shutdown, [upload](Reply<bool> reply) {
        return Command(AbortCommand{upload, std::move(reply)});
      });
      ended += aborted ? 1 : 0;
    }
    if (page->size() < kScanPairs) co_return ended;
    from = page->back().first + '\0';
  }
}

}  // namespace ron::volume
