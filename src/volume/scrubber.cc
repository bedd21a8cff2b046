#include "volume/scrubber.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "platform/disk_error.h"
#include "runtime/metric_names.h"
#include "volume/files.h"

namespace ron::volume {
namespace {

using base::Result;
using platform::Task;
using namespace std::chrono_literals;

constexpr base::Duration kLookEvery = 50ms;  // for requests, which somebody waits for
constexpr base::Duration kPaceWait = 10s;
constexpr std::uint64_t kPaceBytes = 1 * base::kMiB;  // asked for at once, as timers are coarse
constexpr std::array kCheckedKeys = {kObjectKeys, kPartKeys};
constexpr std::string_view kFinishedName = "SCRUBBED";

// The file: Unix time in seconds, in digits, and a newline.
std::optional<std::int64_t> parse_finished(std::string_view text) {
  std::int64_t seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  const bool whole =
      error == std::errc() && std::string_view(end, text.data() + text.size()) == "\n";
  return whole && seconds > 0 ? std::optional(seconds) : std::nullopt;
}

}  // namespace

Scrubber::Scrubber(VolumeState* state, Reader* reader, runtime::Meters& meters)
    : state_(state),
      reader_(reader),
      pacer_(state->tuning().scrub_rate, base::Size{kPaceBytes},
             meters.histogram(runtime::metrics::kRepairWaitSeconds)) {}

ScrubProgress Scrubber::progress() const {
  ScrubProgress progress;
  progress.running = running_.load(std::memory_order_acquire);
  progress.bytes_done = done_.load(std::memory_order_relaxed);
  progress.bytes_total = total_.load(std::memory_order_relaxed);
  progress.started_unix_s = started_unix_s_.load(std::memory_order_relaxed);
  progress.finished_unix_s = finished_unix_s_.load(std::memory_order_relaxed);
  progress.found = found_.load(std::memory_order_relaxed);
  progress.passes = passes_.load(std::memory_order_acquire);
  if (progress.running && progress.bytes_done > 0) {
    const auto spent =
        static_cast<std::uint64_t>(std::max<std::int64_t>(0, unix_s() - progress.started_unix_s));
    const std::uint64_t left =
        progress.bytes_total - std::min(progress.bytes_total, progress.bytes_done);
    const std::uint64_t rate = progress.bytes_done / std::max<std::uint64_t>(1, spent);
    progress.eta_s = left / std::max<std::uint64_t>(1, rate);
  }
  return progress;
}

Task<void> Scrubber::load_finished() {
  const std::string path = state_->options().directory + "/" + std::string(kFinishedName);
  auto file = co_await state_->host().disk.open(path, {platform::OpenMode::ReadExisting, false});
  if (!file) co_return;
  auto text = co_await (*file)->read_at(0, base::Buffer(base::Buffer::kPageBytes));
  if (!text) co_return;
  last_unix_s_ = parse_finished(base::as_text(text->view())).value_or(0);
  finished_unix_s_.store(last_unix_s_, std::memory_order_relaxed);
}

Task<void> Scrubber::save_finished(std::int64_t when) {
  last_unix_s_ = when;
  const std::string text = std::to_string(when) + "\n";
  base::Buffer bytes(text.size());
  std::ranges::copy(base::as_bytes(text), bytes.data());
  auto saved = co_await replace_file(&state_->host().disk, state_->options().directory,
                                     std::string(kFinishedName), std::move(bytes));
  if (!saved) state_->report_trouble(saved.error());
}

bool Scrubber::due() const {
  const base::Duration every = state_->tuning().scrub_every;
  if (every <= base::Duration{}) return false;
  const std::int64_t passed = unix_s() - last_unix_s_;
  // A clock that was set back says nothing: better early than never.
  return passed < 0 || std::chrono::seconds(passed) >= every;
}

Task<void> Scrubber::run(runtime::Shutdown shutdown) {
  co_await load_finished();
  const bool is_new = last_unix_s_ == 0 && state_->segments().empty();
  if (is_new && state_->tuning().scrub_every > base::Duration{}) co_await save_finished(unix_s());
  for (;;) {
    const runtime::Waited waited =
        co_await runtime::wait_stop(shutdown, runtime::Deadline::in(kLookEvery));
    if (waited == runtime::Waited::Ready) co_return;
    if (state_->recovering()) continue;
    if (!requested_.exchange(false, std::memory_order_acq_rel) && !due()) continue;
    auto done = co_await pass(shutdown);
    running_.store(false, std::memory_order_release);
    if (!done) {
      state_->report_trouble(done.error());
      if (done.error().code == base::Code::IntegrityFail) state_->report_damaged_index();
    }
    const std::int64_t finished = finished_unix_s_.load(std::memory_order_relaxed);
    if (finished != 0) {
      co_await save_finished(finished);
      passes_.fetch_add(1, std::memory_order_release);
    }
    // The index was found to be damaged: again, once it has been made anew.
    if (finished == 0 && state_->recovering()) request();
  }
}

Task<Result<void>> Scrubber::pass(runtime::Shutdown shutdown) {
  const auto entries = state_->segment_entries();
  std::uint64_t total = 0;
  for (const auto& [number, entry] : entries) total += entry.bytes;
  total_.store(total, std::memory_order_relaxed);
  done_.store(0, std::memory_order_relaxed);
  found_.store(0, std::memory_order_relaxed);
  finished_unix_s_.store(0, std::memory_order_relaxed);
  started_unix_s_.store(unix_s(), std::memory_order_relaxed);
  running_.store(true, std::memory_order_release);
  for (const auto& [number, entry] : entries) {
    if (shutdown.requested() || state_->recovering()) co_return Result<void>();
    const SegmentPtr segment = state_->segment(number);
    if (segment == nullptr) continue;  // compacted meanwhile
    const std::uint64_t before = done_.load(std::memory_order_relaxed);
    auto checked = co_await check_segment(segment, entry.bytes, shutdown);
    if (!checked && checked.error().code == base::Code::IntegrityFail) co_return checked;
    if (!checked) state_->report_trouble(checked.error());  // unreadable: the others still count
    done_.store(before + entry.bytes, std::memory_order_relaxed);
  }
  finished_unix_s_.store(unix_s(), std::memory_order_relaxed);
  co_return Result<void>();
}

// The same segment, read past the page cache if that is possible: what is in memory says nothing
// about the medium, and what clients read shall stay there.
Task<SegmentPtr> Scrubber::uncached(SegmentPtr segment) {
  auto file = co_await state_->host().disk.open(state_->segment_path(segment->number),
                                                {platform::OpenMode::ReadExisting, true});
  if (!file) co_return segment;
  auto probe = co_await (*file)->read_at(0, base::Buffer(base::Buffer::kPageBytes));
  if (!probe) co_return segment;
  co_return std::make_shared<Segment>(Segment{segment->number, {}, std::move(*file)});
}

// Waits for the turn of the bytes read since the last wait, if they are worth one; false when it is
// time to stop.
Task<bool> Scrubber::pace(std::uint64_t bytes, runtime::Shutdown shutdown) {
  unpaced_ += bytes;
  while (unpaced_ >= kPaceBytes && !shutdown.requested()) {
    auto granted = co_await pacer_.acquire(kPaceBytes, runtime::Deadline::in(kPaceWait));
    if (!granted) co_await runtime::sleep_for(kLookEvery);
    unpaced_ -= kPaceBytes;
  }
  co_return !shutdown.requested();
}

Task<Result<void>> Scrubber::check_segment(SegmentPtr segment, std::uint64_t end,
                                           runtime::Shutdown shutdown) {
  const SegmentPtr from_medium = co_await uncached(segment);
  const Ledger no_ledger;
  SegmentScanner scanner(from_medium, state_->identity.seal, 0, end);
  std::uint64_t live = 0;
  for (;;) {
    auto found = co_await scanner.next();
    if (!found) co_return base::fail(std::move(found.error()));
    if (!*found) break;
    const Record& record = (*found)->record;
    const Place place = (*found)->place;
    const bool go_on = co_await pace(place.stored_bytes(), shutdown);
    if (!go_on) co_return Result<void>();
    done_.fetch_add(place.stored_bytes(), std::memory_order_relaxed);
    const IndexPtr index = state_->index();
    Draft look(index.get(), &no_ledger);
    auto counts = co_await look.refers(&record, place);
    if (!counts) co_return base::fail(std::move(counts.error()));
    if (!*counts) continue;
    live += place.stored_bytes();
    auto payload = co_await scanner.payload(place);
    if (!payload && !platform::is_medium_error(payload.error())) {
      co_return base::fail(std::move(payload.error()));
    }
    if (!payload) {  // whoever reads it is told the same; the others still count
      state_->report_trouble(payload.error());
      continue;
    }
    const auto bad = first_bad_group(record, payload->view());
    if (!bad) continue;
    auto reported = co_await reader_->report_record(&record, place, *bad);
    if (reported) found_.fetch_add(*reported, std::memory_order_relaxed);
  }
  const auto entries = state_->segment_entries();
  const auto entry = entries.find(segment->number);
  const bool grew = entry != entries.end() && entry->second.bytes > end;
  if (entry == entries.end() || (!grew && entry->second.live_bytes <= live)) {
    co_return Result<void>();
  }
  if (scanner.skipped_bytes() == 0) co_return Result<void>();
  auto checked = co_await check_missing(segment, end);
  co_return checked;
}

Task<Result<void>> Scrubber::check_missing(SegmentPtr segment, std::uint64_t end) {
  for (const std::string_view prefix : kCheckedKeys) {
    std::string from(prefix);
    const std::string until = end_of(prefix);
    for (;;) {
      const IndexPtr index = state_->index();
      auto page = co_await index->scan(from, until, kScanPairs);
      if (!page) co_return base::fail(std::move(page.error()));
      for (const auto& [key, value] : *page) {
        auto checked = co_await check_entry(segment, key, value, end);
        if (!checked) co_return checked;
      }
      if (page->size() < kScanPairs) break;
      from = page->back().first + '\0';
    }
  }
  co_return Result<void>();
}

Task<Result<void>> Scrubber::check_entry(SegmentPtr segment, std::string key, std::string value,
                                         std::uint64_t end) {
  Record means;  // what the entry says the record is
  Place place;
  if (const auto part = parse_part_key(key)) {
    const auto entry = parse_entry<PartEntry>(value);
    if (!entry) co_return base::fail(damaged_index("a part"));
    means.kind = RecordKind::Part;
    means.upload = part->upload;
    place = entry->place;
  } else {
    const auto entry = parse_entry<ObjectEntry>(value);
    if (!entry) co_return base::fail(damaged_index("an object"));
    if (!entry->present()) co_return Result<void>();
    means.address = parse_object_key(key);
    place = entry->place;
  }
  if (place.segment != segment->number || place.offset >= end) co_return Result<void>();
  auto stored = co_await read_record(segment, state_->identity.seal, place);
  if (stored) co_return Result<void>();
  if (stored.error().code != base::Code::IntegrityFail) {
    state_->report_trouble(stored.error());
    co_return Result<void>();
  }
  auto reported = co_await reader_->report_record(&means, place, 0);
  if (reported) found_.fetch_add(*reported, std::memory_order_relaxed);
  co_return Result<void>();
}

}  // namespace ron::volume
