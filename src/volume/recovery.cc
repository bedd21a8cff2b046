#include "volume/recovery.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <utility>

#include "platform/disk_error.h"
#include "volume/claim.h"
#include "volume/files.h"

namespace ron::volume {
namespace {

using base::Code;
using base::Result;
using platform::OpenMode;
using platform::Task;

constexpr std::string_view kIndexPrefix = "index.";
constexpr std::string_view kInUse = "another process uses this volume";
constexpr std::size_t kRecordsPerWrite = 256;
constexpr int kHeadTries = 3;
constexpr std::uint64_t kUnknownEnd = UINT64_MAX;  // of a segment that cannot be opened

std::optional<std::uint64_t> parse_generation(std::string_view name) {
  if (!name.starts_with(kIndexPrefix)) return std::nullopt;
  name.remove_prefix(kIndexPrefix.size());
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc() || end != name.data() + name.size()) return std::nullopt;
  return number;
}

}  // namespace

Task<Result<void>> Recovery::open() {
  auto made = co_await make_directories(&state_->host().disk, state_->options().directory,
                                        std::string(kSegmentsName));
  if (!made) co_return made;
  auto identified = co_await find_identity();
  if (!identified) co_return identified;
  auto surveyed = co_await survey();
  if (!surveyed) co_return base::fail(std::move(surveyed.error()));
  auto removed = co_await remove_void(&*surveyed);
  if (!removed) co_return removed;
  auto opened = co_await open_index(&*surveyed);
  co_return opened;
}

Task<Result<void>> Recovery::find_identity() {
  platform::Disk& disk = state_->host().disk;
  const std::string path = state_->options().directory + "/" + std::string(kIdentityName);
  // Two writers on one directory would destroy it.
  auto claim = co_await claim_file(&disk, path, std::string(kInUse));
  if (!claim) co_return base::fail(std::move(claim.error()));
  state_->claim = claim->file;
  if (claim->is_new) {
    auto created = co_await create_identity();
    co_return created;
  }
  auto read = co_await read_identity(state_->claim);
  co_return read;
}

Task<Result<void>> Recovery::read_identity(std::shared_ptr<platform::File> file) {
  auto text = co_await file->read_at(0, base::Buffer(base::Buffer::kPageBytes));
  if (!text) co_return base::fail(std::move(text.error()));
  const auto identity = parse_identity(base::as_text(text->view()));
  if (!identity) co_return base::fail(Code::IntegrityFail, "the file VOLUME is not a volume's");
  state_->identity = *identity;
  co_return Result<void>();
}

// A new one, unless a segment tells the old one. Written to the file that is claimed.
Task<Result<void>> Recovery::create_identity() {
  platform::Disk& disk = state_->host().disk;
  auto segments = co_await survey();
  if (!segments) co_return base::fail(std::move(segments.error()));
  if (state_->identity == Identity{}) {
    platform::Random& random = state_->host().random;
    state_->identity.id = base::Ulid(static_cast<std::uint64_t>(state_->host().clock.unix_ms()),
                                     static_cast<std::uint16_t>(random.next()), random.next());
    random.fill(state_->identity.seal);
  }
  auto named = co_await name_claim(&disk, state_->options().directory, std::string(kIdentityName),
                                   state_->claim, encode(state_->identity));
  co_return named;
}

Task<Result<Recovery::Surveyed>> Recovery::open_segment(std::uint64_t number) {
  auto file = co_await state_->host().disk.open(state_->segment_path(number),
                                                {OpenMode::ReadExisting, false});
  Result<std::uint64_t> size = 0;
  if (file) size = co_await (*file)->size();
  if (!file || !size) {
    base::Error why = file ? std::move(size.error()) : std::move(file.error());
    if (!platform::is_medium_error(why)) co_return base::fail(std::move(why));
    state_->report_trouble(why);
    co_return Surveyed{set_aside_segment(number, std::move(why)), kUnknownEnd, std::nullopt};
  }
  Segment segment{number, {}, std::move(*file)};
  auto bytes = co_await read_head(segment.file);
  if (!bytes && !platform::is_medium_error(bytes.error())) {
    co_return base::fail(std::move(bytes.error()));
  }
  // A head that cannot be read is like one that does not check.
  if (!bytes) state_->report_trouble(bytes.error());
  const auto head = bytes ? parse_segment_head(bytes->view()) : std::nullopt;
  if (head && head->segment == number) {
    if (state_->identity == Identity{}) state_->identity = head->volume;
    if (head->volume != state_->identity) {
      co_return base::fail(Code::IntegrityFail,
                           state_->segment_path(number) + " belongs to another volume");
    }
    segment.closes = head->closes;
  }
  co_return Surveyed{std::make_shared<Segment>(std::move(segment)), *size, std::nullopt};
}

Task<Result<base::Buffer>> Recovery::read_head(std::shared_ptr<platform::File> file) {
  for (int tries = 1;; ++tries) {
    auto bytes = co_await file->read_at(0, base::Buffer(kSegmentHeadBytes));
    if (bytes || tries == kHeadTries) co_return bytes;
  }
}

// All segments in order, with what their heads say about each other.
Task<Result<Recovery::Survey>> Recovery::survey() {
  auto names = co_await state_->host().disk.list(state_->segments_path());
  if (!names) co_return base::fail(std::move(names.error()));
  std::vector<std::uint64_t> numbers;
  for (const platform::DirectoryEntry& entry : *names) {
    const auto number = parse_segment_name(entry.name);
    if (number && !entry.is_directory) numbers.push_back(*number);
  }
  std::ranges::sort(numbers);
  Survey survey;
  for (const std::uint64_t number : numbers) {
    auto opened = co_await open_segment(number);
    if (!opened) co_return base::fail(std::move(opened.error()));
    survey.push_back(std::move(*opened));
  }
  for (const Surveyed& closer : survey) {
    if (!closer.segment->closes) continue;
    const LogPosition closes = *closer.segment->closes;
    for (Surveyed& closed : survey) {
      const std::uint64_t number = closed.segment->number;
      if (number >= closer.segment->number) continue;
      if (number >= closes.segment) {
        closed.end = number == closes.segment ? closes.offset : 0;
      } else if (!closed.end) {
        closed.end = closed.size;  // the one that closed it is gone, and what was beyond with it
      }
    }
  }
  co_return survey;
}

// Segments that hold nothing anybody was told about go, and what the others hold beyond their end.
// A disk that refuses does not matter now: the heads go on saying so.
Task<Result<void>> Recovery::remove_void(Survey* survey) {
  bool removed_any = false;
  for (const Surveyed& surveyed : *survey) {
    next_segment_ = std::max(next_segment_, surveyed.segment->number + 1);
    if (surveyed.end == 0) {
      auto removed =
          co_await state_->host().disk.remove(state_->segment_path(surveyed.segment->number));
      removed_any = removed_any || removed.has_value();
    } else if (surveyed.end && surveyed.size > *surveyed.end && !surveyed.segment->set_aside) {
      static_cast<void>(co_await cut_off(&surveyed, *surveyed.end));
    }
  }
  std::erase_if(*survey, [](const Surveyed& surveyed) { return surveyed.end == 0; });
  for (const Surveyed& surveyed : *survey) state_->add_segment(surveyed.segment);
  if (!removed_any) co_return Result<void>();
  auto synced = co_await state_->host().disk.sync_directory(state_->segments_path());
  co_return synced;
}

Task<Result<void>> Recovery::cut_off(const Surveyed* surveyed, std::uint64_t end) {
  auto file = co_await state_->host().disk.open(state_->segment_path(surveyed->segment->number),
                                                {OpenMode::WriteExisting, false});
  if (!file) co_return base::fail(std::move(file.error()));
  auto cut = co_await (*file)->truncate(end);
  if (!cut) co_return cut;
  auto synced = co_await (*file)->sync();
  co_return synced;
}

Task<Result<std::vector<std::uint64_t>>> Recovery::generations() {
  auto names = co_await state_->host().disk.list(state_->options().directory);
  if (!names) co_return base::fail(std::move(names.error()));
  std::vector<std::uint64_t> numbers;
  for (const platform::DirectoryEntry& entry : *names) {
    const auto number = parse_generation(entry.name);
    if (number && entry.is_directory) numbers.push_back(*number);
  }
  std::ranges::sort(numbers, std::greater<>());
  co_return numbers;
}

Task<Result<IndexPtr>> Recovery::make_index(std::uint64_t generation) {
  platform::Disk& disk = state_->host().disk;
  const std::string path = state_->index_path(generation);
  auto made = co_await disk.make_directory(path);
  if (!made) co_return base::fail(std::move(made.error()));
  auto synced = co_await disk.sync_directory(state_->options().directory);
  if (!synced) co_return base::fail(std::move(synced.error()));
  auto opened = co_await state_->host().key_values.open(
      path, {.cache_bytes = state_->options().index_cache_bytes});
  if (!opened) co_return base::fail(std::move(opened.error()));
  co_return IndexPtr(std::move(*opened));
}

Task<void> Recovery::destroy_index(std::uint64_t generation) {
  const std::string path = state_->index_path(generation);
  auto destroyed = co_await state_->host().key_values.destroy(path);
  // What remains is tried again by the next start.
  if (destroyed) static_cast<void>(co_await state_->host().disk.remove(path));
}

// The index knows of a batch that does not count: its write to the index failed, or so it seemed.
bool Recovery::ahead_of_log(const Survey& survey, const Ledger& ledger) {
  const auto at = std::ranges::find(survey, ledger.meta.segment,
                                    [](const Surveyed& s) { return s.segment->number; });
  if (at == survey.end()) {
    // One that holds nothing live was on its way out.
    const auto entry = ledger.segments.find(ledger.meta.segment);
    return entry != ledger.segments.end() && entry->second.live_bytes != 0;
  }
  return !at->segment->set_aside && at->limit() < ledger.meta.offset;
}

Task<Result<void>> Recovery::open_index(const Survey* survey) {
  auto numbers = co_await generations();
  if (!numbers) co_return base::fail(std::move(numbers.error()));
  std::uint64_t newest = numbers->empty() ? 0 : numbers->front();
  IndexPtr index;
  Ledger ledger;
  for (const std::uint64_t generation : *numbers) {
    Result<IndexPtr> opened = nullptr;
    if (!index) opened = co_await make_index(generation);
    if (!opened && opened.error().code != Code::IntegrityFail) {
      co_return base::fail(std::move(opened.error()));
    }
    if (opened && *opened) {
      auto loaded = co_await load_ledger(opened->get());
      if (loaded && loaded->meta.complete) {
        index = std::move(*opened);
        ledger = std::move(*loaded);
        newest = generation;
        continue;
      }
      if (!loaded && loaded.error().code != Code::IntegrityFail) {
        co_return base::fail(std::move(loaded.error()));
      }
    }
    opened = nullptr;
    co_await destroy_index(generation);
  }
  if (!index && survey->empty()) {
    auto made = co_await make_index(++newest);
    if (!made) co_return base::fail(std::move(made.error()));
    index = std::move(*made);
    auto finished = co_await finish_rebuild(index.get(), &ledger);
    if (!finished) co_return finished;
  }
  if (index) {
    auto forgotten = co_await forget_removed(survey, index.get(), &ledger);
    if (!forgotten) co_return forgotten;
  }
  const LogPosition from{ledger.meta.segment, ledger.meta.offset};
  if (!index || ahead_of_log(*survey, ledger)) {
    state_->set_index(std::move(index), newest, std::move(ledger));
    state_->report_damaged_index();
    co_return Result<void>();
  }
  auto replayed = co_await apply_log(survey, from, {index.get(), &ledger, Draft::Mode::Apply});
  if (!replayed && replayed.error().code != Code::IntegrityFail) co_return replayed;
  state_->set_index(std::move(index), newest, std::move(ledger));
  if (!replayed) {
    state_->report_damaged_index();
  } else {
    state_->set_readable(true);
  }
  co_return Result<void>();
}

// Segments that were removed before the index was told: nothing refers to them any more.
Task<Result<void>> Recovery::forget_removed(const Survey* survey, platform::KeyValue* index,
                                            Ledger* ledger) {
  platform::KeyValueBatch batch;
  std::erase_if(ledger->segments, [&](const auto& known) {
    const auto& [number, entry] = known;
    const bool exists = std::ranges::any_of(
        *survey, [&](const Surveyed& one) { return one.segment->number == number; });
    if (exists || entry.live_bytes != 0) return false;
    batch.erase(segment_key(number));
    return true;
  });
  if (batch.empty()) co_return Result<void>();
  auto written = co_await index->write(std::move(batch));
  co_return written;
}

Task<Result<void>> Recovery::rebuild() {
  auto surveyed = co_await survey();
  if (!surveyed) co_return base::fail(std::move(surveyed.error()));
  auto removed = co_await remove_void(&*surveyed);
  if (!removed) co_return removed;
  const std::uint64_t generation = state_->generation() + 1;
  co_await destroy_index(generation);
  auto index = co_await make_index(generation);
  if (!index) co_return base::fail(std::move(index.error()));
  Ledger ledger;
  state_->unreadable_bytes.store(0, std::memory_order_relaxed);
  auto collected =
      co_await apply_log(&*surveyed, {}, {index->get(), &ledger, Draft::Mode::Collect});
  if (!collected) co_return collected;
  auto finished = co_await finish_rebuild(index->get(), &ledger);
  if (!finished) co_return finished;
  state_->set_index(std::move(*index), generation, std::move(ledger));
  co_return Result<void>();
}

Task<Result<void>> Recovery::inspect(platform::KeyValue* index, Ledger* ledger) {
  inspecting_ = true;
  const std::string path = state_->options().directory + "/" + std::string(kIdentityName);
  auto file = co_await claim_shared(&state_->host().disk, path, std::string(kInUse));
  if (!file && file.error().code != Code::NotFound) co_return base::fail(std::move(file.error()));
  if (file) {
    state_->claim = std::move(*file);
    auto read = co_await read_identity(state_->claim);
    if (!read) co_return read;
  }
  auto surveyed = co_await survey();
  if (!surveyed) co_return base::fail(std::move(surveyed.error()));
  std::erase_if(*surveyed, [](const Surveyed& segment) { return segment.end == 0; });
  for (const Surveyed& segment : *surveyed) state_->add_segment(segment.segment);
  auto applied = co_await apply_log(&*surveyed, {}, {index, ledger, Draft::Mode::Collect});
  if (!applied) co_return applied;
  auto finished = co_await finish_rebuild(index, ledger);
  co_return finished;
}

Task<Result<void>> Recovery::apply_log(const Survey* survey, LogPosition from, Target target) {
  end_ = from;
  next_segment_ = std::max(next_segment_, from.segment + 1);
  bool incomplete = false;
  for (const Surveyed& surveyed : *survey) {
    const std::uint64_t number = surveyed.segment->number;
    const bool known = target.ledger->segments.contains(number);
    if (surveyed.segment->set_aside) {
      incomplete = incomplete || !known;
      // The next segment must not say that the log ended before this one.
      if (number >= from.segment) end_ = {number, kUnknownEnd};
      continue;
    }
    if (number < from.segment) {
      if (!known && surveyed.limit() > kSegmentHeadBytes) {
        co_return base::fail(damaged_index("it does not know " + segment_name(number)));
      }
      target.ledger->segments.try_emplace(number, SegmentEntry{surveyed.limit(), 0});
      continue;
    }
    const std::uint64_t begin = number == from.segment ? from.offset : kSegmentHeadBytes;
    auto end = co_await apply_segment(surveyed, begin, target);
    if (!end) co_return base::fail(std::move(end.error()));
    if (!surveyed.end && *end <= kSegmentHeadBytes) {
      // Begun and never used. Its head may not be on the medium, so the log does not end here; the
      // next segment makes it void.
      state_->remove_segment(number);
      continue;
    }
    end_ = {number, *end};
    target.ledger->segments[number].bytes = *end;
  }
  state_->set_incomplete(incomplete);
  co_return Result<void>();
}

// Applies the segment's records from `begin` on; where they end.
Task<Result<std::uint64_t>> Recovery::apply_segment(Surveyed surveyed, std::uint64_t begin,
                                                    Target target) {
  const bool closed = surveyed.end.has_value();
  const std::uint64_t limit = surveyed.limit();
  SegmentScanner scanner(surveyed.segment, state_->identity.seal, begin, limit);
  std::vector<FoundRecord> sure;
  std::vector<FoundRecord> tail;  // not known to be synced: a batch, or what damage left of one
  std::uint64_t durable = begin;
  for (;;) {
    auto found = co_await scanner.next();
    if (!found && !platform::is_medium_error(found.error())) {
      co_return base::fail(std::move(found.error()));
    }
    if (!found) report_unreadable(surveyed.segment->number, limit - scanner.position());
    const bool last = !found || !*found;
    if (!last) {
      durable = std::max(durable, (*found)->record.durable_before);
      tail.push_back(std::move(**found));
    }
    const auto known = closed ? tail.end() : std::ranges::find_if(tail, [&](const auto& record) {
      return record.end() > durable;
    });
    std::move(tail.begin(), known, std::back_inserter(sure));
    tail.erase(tail.begin(), known);
    if (sure.size() >= kRecordsPerWrite || last) {
      auto applied =
          co_await apply_records(&sure, sure.empty() ? begin : sure.back().end(), target);
      if (!applied) co_return base::fail(std::move(applied.error()));
      sure.clear();
    }
    if (last) break;
  }
  if (scanner.unreadable_bytes() != 0) {
    report_unreadable(surveyed.segment->number, scanner.unreadable_bytes());
  }
  if (!closed && !inspecting_) {
    auto end =
        co_await apply_tail(&scanner, std::move(tail), surveyed, std::min(durable, limit), target);
    co_return end;
  }
  auto applied = co_await apply_records(&tail, limit, target);
  if (!applied) co_return base::fail(std::move(applied.error()));
  co_return limit;
}

void Recovery::report_unreadable(std::uint64_t segment, std::uint64_t bytes) {
  state_->unreadable_bytes.fetch_add(bytes, std::memory_order_relaxed);
  state_->report_trouble({Code::StorageBusy, "cannot read " + std::to_string(bytes) +
                                                 " bytes of '" + state_->segment_path(segment) +
                                                 "': records in them are left out"});
}

Task<Result<void>> Recovery::apply_records(const std::vector<FoundRecord>* records,
                                           std::uint64_t end, Target target) {
  if (records->empty()) co_return Result<void>();
  Draft draft(target.index, target.ledger, target.mode);
  for (const FoundRecord& found : *records) {
    auto applied = co_await draft.apply(&found.record, found.place);
    if (!applied) co_return applied;
  }
  draft.set_position(records->front().place.segment, end);
  auto written = co_await target.index->write(draft.take_batch());
  if (!written) co_return written;
  draft.commit(*target.ledger);
  co_return Result<void>();
}

}  // namespace ron::volume
