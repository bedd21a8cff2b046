#include "volume/inspector.h"

#include <algorithm>
#include <utility>

#include "platform/disk_error.h"

namespace ron::volume {
namespace {

using base::Code;
using base::Result;
using platform::Task;

constexpr std::string_view kDamaged = "its bytes do not match it";
constexpr std::string_view kNotGiven = "its bytes cannot be read";
constexpr std::string_view kUnreadable =
    "no record can be read there: damage, or the last write before a crash";

Options options_of(std::string directory) {
  Options options;
  options.directory = std::move(directory);
  return options;
}

}  // namespace

Inspector::Inspector(platform::Host host, std::string directory, const runtime::LockDecl& lock_decl,
                     Callbacks callbacks)
    : state_(host, options_of(std::move(directory)), lock_decl),
      recovery_(&state_),
      callbacks_(std::move(callbacks)) {}

Task<Result<bool>> Inspector::is_volume(platform::Disk* disk, std::string directory) {
  auto names = co_await disk->list(std::move(directory));
  if (!names && names.error().code == Code::NotFound) co_return false;
  if (!names) co_return base::fail(std::move(names.error()));
  co_return std::ranges::any_of(*names, [](const platform::DirectoryEntry& entry) {
    return entry.is_directory ? entry.name == kSegmentsName : entry.name == kIdentityName;
  });
}

Task<Result<Inspection>> Inspector::run() {
  auto applied = co_await recovery_.inspect(&index_, &ledger_);
  if (!applied) co_return base::fail(std::move(applied.error()));
  result_.objects = ledger_.total.objects;
  result_.bytes = ledger_.total.bytes;
  for (const SegmentPtr& segment : state_.segments()) {
    if (segment->set_aside) damage(segment_name(segment->number), "it cannot be opened");
  }
  for (const auto& [number, entry] : ledger_.segments) callbacks_.on_expected(entry.bytes);
  for (const auto& [number, entry] : ledger_.segments) {
    const SegmentPtr segment = state_.segment(number);
    if (segment == nullptr) continue;
    auto checked = co_await check_segment(segment, entry.bytes);
    if (!checked) co_return base::fail(std::move(checked.error()));
  }
  auto composed = co_await check_compositions();
  if (!composed) co_return base::fail(std::move(composed.error()));
  result_.damaged = damaged_.size();
  co_return result_;
}

void Inspector::damage(const std::string& what, std::string_view why) {
  if (damaged_.insert(what).second) callbacks_.on_damage(what, why);
}

Task<Result<void>> Inspector::check_segment(SegmentPtr segment, std::uint64_t end) {
  const std::string name = segment_name(segment->number);
  if (!segment->closes) damage(name, "its head is damaged");
  SegmentScanner scanner(segment, state_.identity.seal, kSegmentHeadBytes, end);
  std::uint64_t at = kSegmentHeadBytes;
  for (;;) {
    auto found = co_await scanner.next();
    if (!found) co_return base::fail(std::move(found.error()));
    const std::uint64_t next = *found ? (*found)->place.offset : end;
    bool complete = *found && (*found)->follows(at);
    if (!*found && next > at) {
      auto padded = co_await is_padding(segment, at, end);
      if (!padded) co_return base::fail(std::move(padded.error()));
      complete = *padded;
    }
    if (next > at && !complete) {
      damage(name + " bytes " + std::to_string(at) + "-" + std::to_string(next - 1), kUnreadable);
    }
    if (!*found) break;
    auto checked = co_await check_record(&scanner, &**found);
    if (!checked) co_return checked;
    at = (*found)->end();
    callbacks_.on_read(at - next);
  }
  co_return Result<void>();
}

// What fills the last page of a volume whose process died.
Task<Result<bool>> Inspector::is_padding(SegmentPtr segment, std::uint64_t begin,
                                         std::uint64_t end) {
  if (end != next_page(begin)) co_return false;
  auto bytes =
      co_await read_bytes(std::move(segment), begin, static_cast<std::size_t>(end - begin));
  if (!bytes) co_return base::fail(std::move(bytes.error()));
  co_return std::ranges::all_of(bytes->view(), [](std::byte byte) { return byte == std::byte{}; });
}

Task<Result<void>> Inspector::check_record(SegmentScanner* scanner, const FoundRecord* found) {
  if (found->record.payload_bytes == 0) co_return Result<void>();
  const Ledger no_ledger;
  Draft look(&index_, &no_ledger);
  auto counts = co_await look.refers(&found->record, found->place);
  if (!counts) co_return base::fail(std::move(counts.error()));
  if (!*counts) co_return Result<void>();
  auto payload = co_await scanner->payload(found->place);
  if (!payload && !platform::is_medium_error(payload.error())) {
    co_return base::fail(std::move(payload.error()));
  }
  if (payload && !first_bad_group(found->record, payload->view())) co_return Result<void>();
  auto owner = co_await owner_of(&found->record);
  if (!owner) co_return base::fail(std::move(owner.error()));
  damage(*owner, payload ? kDamaged : kNotGiven);
  co_return Result<void>();
}

// The object the record is or is a part of; a part of an open upload is named as such.
Task<Result<std::string>> Inspector::owner_of(const Record* record) {
  if (record->kind == RecordKind::Object) co_return record->address->text();
  Draft look(&index_, &ledger_);
  auto upload = co_await look.upload(*record->upload);
  if (!upload) co_return base::fail(std::move(upload.error()));
  const bool committed = *upload && (*upload)->state == UploadEntry::State::Committed;
  if (committed && (*upload)->address) co_return (*upload)->address->text();
  co_return "part " + std::to_string(record->part) + " of upload " +
      std::string(record->upload->text());
}

// Objects made of parts: all of them are there and their values come to the address.
Task<Result<void>> Inspector::check_compositions() {
  std::string from(kObjectKeys);
  const std::string until = end_of(kObjectKeys);
  for (;;) {
    auto page = co_await index_.scan(from, until, kScanPairs);
    if (!page) co_return base::fail(std::move(page.error()));
    for (const auto& [key, value] : *page) {
      const auto id = parse_object_key(key);
      const auto entry = parse_entry<ObjectEntry>(value);
      if (!id || !entry || entry->state != ObjectEntry::State::Composed) continue;
      Draft look(&index_, &ledger_);
      auto sound = co_await composes(&look, *id, entry->length, *entry->upload);
      if (!sound) co_return base::fail(std::move(sound.error()));
      if (!*sound) damage(id->text(), "parts of it are missing or are not its own");
    }
    if (page->size() < kScanPairs) co_return Result<void>();
    from = page->back().first + '\0';
  }
}

}  // namespace ron::volume
