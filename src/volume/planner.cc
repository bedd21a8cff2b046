#include "volume/planner.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "b3/hash.h"

namespace ron::volume {
namespace {

using base::Code;
using base::Result;
using platform::Task;

Task<Result<void>> add(Batch* batch, Record record, base::Buffer payload = {}) {
  return batch->add(std::move(record), std::move(payload));
}

// The upload is gone, whatever it was; `address` if it was committed as that, which is known until
// it would have expired.
Record ended_record(const Batch& batch, const UploadId& id, const UploadEntry& entry,
                    std::optional<base::ObjectId> address) {
  Record record;
  record.kind = RecordKind::UploadEnded;
  record.origin = entry.origin;
  record.killed = batch.segment();
  record.length = entry.length;
  record.expires_unix_s = address ? entry.expires_unix_s : 0;
  record.address = address;
  record.upload = id;
  record.tenant = entry.tenant;
  return record;
}

// The tenant holds the object, or does not any more.
Record hold_record(const Batch& batch, RecordKind kind, const base::ObjectId& id,
                   std::string tenant, const std::optional<HoldEntry>& before) {
  Record record;
  record.kind = kind;
  record.origin = before ? std::min(before->origin, batch.segment()) : batch.segment();
  record.killed = kind == RecordKind::HoldRemoved ? batch.segment() : 0;
  record.address = id;
  record.tenant = std::move(tenant);
  return record;
}

// Adds the tenant's hold on an object that is there, unless it has one.
Task<Result<void>> add_hold(Batch* batch, base::ObjectId id, const ObjectEntry* object,
                            std::string tenant) {
  auto before = co_await batch->draft().hold(id, tenant);
  if (!before) co_return base::fail(std::move(before.error()));
  if (is_held(*object, tenant, *before)) co_return Result<void>();
  auto added = co_await add(
      batch, hold_record(*batch, RecordKind::HoldAdded, id, std::move(tenant), *before));
  co_return added;
}

// An object of the tenant's is about to be stored over a damaged one. Who holds that one goes on
// holding the new one: what says so is newer than the object's record and stands before it, so that
// a crash in between takes nobody's hold. The upload the damaged one came from, and so its parts,
// are not needed any more. The sequence the object's record is to have.
Task<Result<std::uint64_t>> begin_replacement(Batch* batch, base::ObjectId id,
                                              const ObjectEntry* replaced, std::string tenant) {
  const std::uint64_t sequence = batch->draft().take_sequence();
  auto holds = co_await batch->draft().holds(id);
  if (!holds) co_return base::fail(std::move(holds.error()));
  for (const std::string& holder : holders(*replaced, *holds)) {
    if (holder == tenant) continue;
    const auto of = holds->find(holder);
    const auto before = of != holds->end() ? std::optional(of->second) : std::nullopt;
    auto added =
        co_await add(batch, hold_record(*batch, RecordKind::HoldAdded, id, holder, before));
    if (!added) co_return base::fail(std::move(added.error()));
  }
  if (!replaced->upload) co_return sequence;
  auto upload = co_await batch->draft().upload(*replaced->upload);
  if (!upload) co_return base::fail(std::move(upload.error()));
  if (!*upload) co_return sequence;
  const std::optional<base::ObjectId> made = (*upload)->address;
  auto ended = co_await add(batch, ended_record(*batch, *replaced->upload, **upload, made));
  if (!ended) co_return base::fail(std::move(ended.error()));
  co_return sequence;
}

std::uint64_t origin_with(const Batch& batch, const std::optional<ObjectEntry>& before) {
  return before ? std::min(before->origin, batch.segment()) : batch.segment();
}

Task<Result<Planned>> plan_put(Batch* batch, PutCommand* command) {
  NewObject& object = command->object;
  auto before = co_await batch->draft().object(object.id);
  if (!before) co_return base::fail(std::move(before.error()));
  const std::uint64_t length = object.bytes.size();
  const bool is_there = *before && (*before)->present();
  if (is_there && !batch->draft().quarantined(object.id)) {
    auto held = co_await add_hold(batch, object.id, &**before, std::move(object.tenant));
    if (!held) co_return base::fail(std::move(held.error()));
    batch->answer<Added>(std::move(command->reply), Added{object.id, length, false});
    co_return Planned::Done;
  }
  Record record;
  record.origin = origin_with(*batch, *before);
  record.length = length;
  record.payload_bytes = static_cast<std::uint32_t>(length);
  record.address = object.id;
  record.tenant = std::move(object.tenant);
  record.groups = std::move(object.groups);
  if (is_there) {
    auto sequence = co_await begin_replacement(batch, object.id, &**before, record.tenant);
    if (!sequence) co_return base::fail(std::move(sequence.error()));
    record.sequence = *sequence;
  }
  auto added = co_await add(batch, std::move(record), std::move(object.bytes));
  if (!added) co_return base::fail(std::move(added.error()));
  batch->answer<Added>(std::move(command->reply), Added{object.id, length, true});
  co_return Planned::Done;
}

// What removes the object, or the tenant's hold as long as there are others; nothing if the tenant
// has none.
Task<Result<std::optional<Record>>> removal_record(Batch* batch, const Removal* removal,
                                                   const ObjectEntry* object) {
  if (removal->tenant) {
    auto holds = co_await batch->draft().holds(removal->id);
    if (!holds) co_return base::fail(std::move(holds.error()));
    const std::vector<std::string> all = holders(*object, *holds);
    if (!std::ranges::binary_search(all, *removal->tenant)) co_return std::nullopt;
    if (all.size() > 1) {
      const auto own = holds->find(*removal->tenant);
      const auto before = own != holds->end() ? std::optional(own->second) : std::nullopt;
      co_return hold_record(*batch, RecordKind::HoldRemoved, removal->id, *removal->tenant, before);
    }
  }
  Record record;
  record.kind = RecordKind::Deleted;
  record.origin = std::min(object->origin, batch->segment());
  record.killed = batch->segment();
  record.length = object->length;
  record.address = removal->id;
  record.upload = object->upload;
  record.tenant = object->tenant;
  co_return record;
}

Task<Result<Planned>> plan_remove(Batch* batch, RemoveCommand* command) {
  const Removal& removal = command->removal;
  auto before = co_await batch->draft().object(removal.id);
  if (!before) co_return base::fail(std::move(before.error()));
  std::optional<Record> record;
  if (*before && (*before)->present()) {
    auto planned = co_await removal_record(batch, &removal, &**before);
    if (!planned) co_return base::fail(std::move(planned.error()));
    record = std::move(*planned);
  }
  if (!record) {
    batch->answer<Removed>(std::move(command->reply), base::fail(Code::NotFound, "no such object"));
    co_return Planned::Done;
  }
  const Removed removed{(*before)->length, record->kind == RecordKind::Deleted};
  auto added = co_await add(batch, std::move(*record));
  if (!added) co_return base::fail(std::move(added.error()));
  batch->answer<Removed>(std::move(command->reply), removed);
  co_return Planned::Done;
}

Task<Result<Planned>> plan_begin(Batch* batch, BeginCommand* command) {
  const Upload& upload = command->upload;
  auto before = co_await batch->draft().upload(upload.id);
  if (!before) co_return base::fail(std::move(before.error()));
  if (*before) {
    const UploadEntry& entry = **before;
    const bool same = entry.state == UploadEntry::State::Open && entry.length == upload.length &&
                      entry.address == upload.expected && entry.tenant == upload.tenant;
    Result<bool> answer = false;
    if (!same) answer = base::fail(Code::PreconditionFailed, "the upload's name is taken");
    batch->answer<bool>(std::move(command->reply), std::move(answer));
    co_return Planned::Done;
  }
  Record record;
  record.kind = RecordKind::UploadBegun;
  record.origin = batch->segment();
  record.length = upload.length;
  record.expires_unix_s = upload.expires_unix_s;
  record.address = upload.expected;
  record.upload = upload.id;
  record.tenant = upload.tenant;
  auto added = co_await add(batch, std::move(record));
  if (!added) co_return base::fail(std::move(added.error()));
  batch->answer<bool>(std::move(command->reply), true);
  co_return Planned::Done;
}

bool fits(const UploadEntry& entry, const NewPart& part) {
  Upload upload;
  upload.length = entry.length;
  return part.part < upload.parts() && part.bytes.size() == upload.part_length(part.part);
}

Task<Result<Planned>> plan_part(Batch* batch, PartCommand* command) {
  NewPart& part = command->part;
  auto upload = co_await batch->draft().upload(part.upload);
  if (!upload) co_return base::fail(std::move(upload.error()));
  Result<b3::ChainingValue> answer = b3::combine(command->groups);
  const bool is_open = *upload && (*upload)->state == UploadEntry::State::Open;
  if (!is_open) answer = base::fail(Code::NotFound, "no such upload");
  if (is_open && !fits(**upload, part)) {
    answer = base::fail(Code::Malformed, "the upload has no part of this number and length");
  }
  if (answer) {
    auto before = co_await batch->draft().part(part.upload, part.part);
    if (!before) co_return base::fail(std::move(before.error()));
    if (!*before || (*before)->value != *answer) {
      Record record;
      record.kind = RecordKind::Part;
      record.origin = (*upload)->origin;
      record.part = part.part;
      record.payload_bytes = static_cast<std::uint32_t>(part.bytes.size());
      record.upload = part.upload;
      record.groups = std::move(command->groups);
      auto added = co_await add(batch, std::move(record), std::move(part.bytes));
      if (!added) co_return base::fail(std::move(added.error()));
    }
  }
  batch->answer<b3::ChainingValue>(std::move(command->reply), std::move(answer));
  co_return Planned::Done;
}

// The object an upload makes: its address, and its bytes if it is to be stored in one record.
struct Made {
  base::ObjectId id;
  base::Buffer bytes;
};

// The bytes of the only part, read back; empty if there is none.
Task<Result<base::Buffer>> only_part(VolumeState* state, const Draft::Parts* parts) {
  if (parts->empty()) co_return base::Buffer();
  const PartEntry& entry = parts->begin()->second;
  const SegmentPtr segment = state->segment(entry.place.segment);
  const auto damaged = base::fail(Code::IntegrityFail, "part 0 of the upload is damaged");
  if (segment == nullptr) co_return damaged;
  auto stored = co_await read_record(segment, state->identity.seal, entry.place);
  if (!stored && stored.error().code == Code::IntegrityFail) co_return damaged;
  if (!stored) co_return base::fail(state->for_client(stored.error()));
  if (stored->record.kind != RecordKind::Part || part_value(stored->record) != entry.value ||
      first_bad_group(stored->record, stored->payload())) {
    co_return damaged;
  }
  base::Buffer bytes(stored->payload().size());
  std::ranges::copy(stored->payload(), bytes.data());
  co_return bytes;
}

Task<Result<Made>> make_object(VolumeState* state, const UploadEntry* entry,
                               const Draft::Parts* parts) {
  Made made;
  if (entry->length <= kPartBytes) {
    auto bytes = co_await only_part(state, parts);
    if (!bytes) co_return base::fail(std::move(bytes.error()));
    made.id = b3::hash(bytes->view());
    made.bytes = std::move(*bytes);
  } else {
    std::vector<b3::ChainingValue> values;
    values.reserve(parts->size());
    for (const auto& [number, part] : *parts) values.push_back(part.value);
    auto root = b3::root_of(entry->length, kPartBytes, values);
    if (!root) co_return base::fail(std::move(root.error()));
    made.id = *root;
  }
  if (entry->address && *entry->address != made.id) {
    co_return base::fail(base::Error(Code::HashMismatch, "the parts are another object")
                             .with("expected", entry->address->text())
                             .with("actual", made.id.text()));
  }
  co_return made;
}

std::optional<std::uint64_t> first_missing(const UploadEntry& entry, const Draft::Parts& parts) {
  Upload upload;
  upload.length = entry.length;
  std::uint64_t next = 0;
  for (const auto& [number, part] : parts) {
    if (number != next) return next;
    ++next;
  }
  return next == upload.parts() ? std::nullopt : std::optional(next);
}

// Publishes what was made. The upload is open.
Task<Result<Added>> publish(Batch* batch, UploadId id, UploadEntry entry, Made made) {
  auto before = co_await batch->draft().object(made.id);
  if (!before) co_return base::fail(std::move(before.error()));
  const bool is_there = *before && (*before)->present();
  const Added added{made.id, entry.length, !is_there || batch->draft().quarantined(made.id)};
  Record record;
  if (!added.is_new) {
    // The hold first: an upload that is over is one whose tenant has what it was for.
    auto held = co_await add_hold(batch, made.id, &**before, entry.tenant);
    if (!held) co_return base::fail(std::move(held.error()));
    record = ended_record(*batch, id, entry, made.id);
    made.bytes = {};
  } else {
    const bool whole = entry.length <= kPartBytes;
    record.kind = whole ? RecordKind::Object : RecordKind::Committed;
    record.origin = std::min(entry.origin, origin_with(*batch, *before));
    record.length = entry.length;
    record.expires_unix_s = entry.expires_unix_s;
    record.payload_bytes = static_cast<std::uint32_t>(made.bytes.size());
    record.address = made.id;
    record.upload = id;
    record.tenant = entry.tenant;
    record.groups.resize(groups_stored(record.kind, record.payload_bytes));
    if (!record.groups.empty()) b3::group_values(made.bytes.view(), 0, record.groups);
    if (is_there) {
      auto sequence = co_await begin_replacement(batch, made.id, &**before, entry.tenant);
      if (!sequence) co_return base::fail(std::move(sequence.error()));
      record.sequence = *sequence;
    }
  }
  auto done = co_await add(batch, std::move(record), std::move(made.bytes));
  if (!done) co_return base::fail(std::move(done.error()));
  co_return added;
}

// An upload that is not open: fine if it was committed and its tenant still holds the object.
Task<Result<Planned>> plan_commit_again(Batch* batch, CommitCommand* command,
                                        std::optional<UploadEntry> entry) {
  Result<Added> answer = base::fail(Code::NotFound, "no such upload");
  if (entry && entry->address) {
    auto object = co_await batch->draft().object(*entry->address);
    if (!object) co_return base::fail(std::move(object.error()));
    auto hold = co_await batch->draft().hold(*entry->address, entry->tenant);
    if (!hold) co_return base::fail(std::move(hold.error()));
    const bool held = *object && is_held(**object, entry->tenant, *hold);
    if (held) answer = Added{*entry->address, entry->length, false};
  }
  batch->answer<Added>(std::move(command->reply), std::move(answer));
  co_return Planned::Done;
}

Task<Result<Planned>> plan_commit(VolumeState* state, Batch* batch, CommitCommand* command) {
  auto upload = co_await batch->draft().upload(command->upload);
  if (!upload) co_return base::fail(std::move(upload.error()));
  if (!*upload || (*upload)->state != UploadEntry::State::Open) {
    auto again = co_await plan_commit_again(batch, command, std::move(*upload));
    co_return again;
  }
  const UploadEntry entry = **upload;
  auto parts = co_await batch->draft().parts(command->upload);
  if (!parts) co_return base::fail(std::move(parts.error()));
  if (const auto missing = first_missing(entry, *parts)) {
    batch->answer<Added>(std::move(command->reply),
                         base::fail(base::Error(Code::PreconditionFailed, "a part is missing")
                                        .with("part", std::to_string(*missing))));
    co_return Planned::Done;
  }
  const bool reads = entry.length <= kPartBytes && !parts->empty();
  if (reads && batch->holds(parts->begin()->second.place)) co_return Planned::Deferred;
  auto made = co_await make_object(state, &entry, &*parts);
  if (!made) {
    batch->answer<Added>(std::move(command->reply), base::fail(std::move(made.error())));
    co_return Planned::Done;
  }
  auto added = co_await publish(batch, command->upload, entry, std::move(*made));
  if (!added) co_return base::fail(std::move(added.error()));
  batch->answer<Added>(std::move(command->reply), *added);
  co_return Planned::Done;
}

Task<Result<Planned>> plan_abort(Batch* batch, AbortCommand* command) {
  auto upload = co_await batch->draft().upload(command->upload);
  if (!upload) co_return base::fail(std::move(upload.error()));
  if (!*upload || (*upload)->state != UploadEntry::State::Open) {
    batch->answer<bool>(std::move(command->reply), base::fail(Code::NotFound, "no such upload"));
    co_return Planned::Done;
  }
  auto added = co_await add(batch, ended_record(*batch, command->upload, **upload, std::nullopt));
  if (!added) co_return base::fail(std::move(added.error()));
  batch->answer<bool>(std::move(command->reply), true);
  co_return Planned::Done;
}

Task<Result<Planned>> plan_copy(Batch* batch, CopyCommand* command) {
  for (Copy& copy : command->copies) {
    auto counts = co_await batch->draft().refers(&copy.record, copy.place);
    if (!counts) co_return base::fail(std::move(counts.error()));
    if (!*counts) continue;
    auto added = co_await add(batch, std::move(copy.record), std::move(copy.payload));
    if (!added) co_return base::fail(std::move(added.error()));
  }
  batch->answer<bool>(std::move(command->reply), true);
  co_return Planned::Done;
}

Task<Result<Planned>> plan_quarantine(VolumeState* state, Batch* batch,
                                      QuarantineCommand* command) {
  auto object = co_await batch->draft().object(command->id);
  if (!object) co_return base::fail(std::move(object.error()));
  const bool same = *object && (*object)->present() && (*object)->place == command->place;
  if (same && !batch->draft().quarantined(command->id)) {
    batch->draft().set_quarantine(command->id,
                                  {command->group, state->host().clock.unix_ms() / 1000});
  }
  co_return Planned::Done;
}

struct Plan {
  VolumeState* state;
  Batch* batch;
  Task<Result<Planned>> operator()(PutCommand& command) const { return plan_put(batch, &command); }
  Task<Result<Planned>> operator()(RemoveCommand& command) const {
    return plan_remove(batch, &command);
  }
  Task<Result<Planned>> operator()(BeginCommand& command) const {
    return plan_begin(batch, &command);
  }
  Task<Result<Planned>> operator()(PartCommand& command) const {
    return plan_part(batch, &command);
  }
  Task<Result<Planned>> operator()(CommitCommand& command) const {
    return plan_commit(state, batch, &command);
  }
  Task<Result<Planned>> operator()(AbortCommand& command) const {
    return plan_abort(batch, &command);
  }
  Task<Result<Planned>> operator()(CopyCommand& command) const {
    return plan_copy(batch, &command);
  }
  Task<Result<Planned>> operator()(QuarantineCommand& command) const {
    return plan_quarantine(state, batch, &command);
  }
  // The others happen between batches.
  template <class Between>
  Task<Result<Planned>> operator()(Between&) const {
    return nothing();
  }
  static Task<Result<Planned>> nothing() { co_return Planned::Done; }
};

}  // namespace

Task<Result<Planned>> plan(VolumeState* state, Batch* batch, Command* command) {
  return std::visit(Plan{state, batch}, *command);
}

}  // namespace ron::volume
