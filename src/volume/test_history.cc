#include "volume/test_history.h"

#include <algorithm>
#include <exception>

namespace ron::volume {

using namespace std::chrono_literals;
using base::Code;

void HistoryCounts::add(const HistoryCounts& other) noexcept {
  writes += other.writes;
  acknowledged += other.acknowledged;
  refused += other.refused;
  checks += other.checks;
  stops += other.stops;
  crashes += other.crashes;
  power_cuts += other.power_cuts;
  lost_changes += other.lost_changes;
  compactions += other.compactions;
  rebuilds += other.rebuilds;
  rotten += other.rotten;
  broken += other.broken;
}

HistoryPlan history_plan(std::uint64_t seed) {
  HistoryPlan plan{.seed = seed, .options = small_options()};
  plan.options.segment_bytes = seed % 2 == 0 ? 32 * base::kKiB : 8 * base::kMiB;
  // Batches past the page cache: the large ones, all of them, or those from a few pages on.
  const std::uint64_t direct_bytes[] = {64 * base::kKiB, 1, 10'000};
  plan.options.direct_bytes = direct_bytes[seed % std::size(direct_bytes)];
  return plan;
}

HistoryPlan failing_history_plan(std::uint64_t seed) {
  HistoryPlan plan = history_plan(seed);
  plan.faults.fail_write = 60'000;
  plan.faults.fail_sync = 60'000;
  plan.faults.fail_name = 60'000;
  return plan;
}

HistoryPlan decaying_history_plan(std::uint64_t seed) {
  HistoryPlan plan = history_plan(seed);
  plan.medium_fails = true;
  return plan;
}

History::History(HistoryPlan plan, Print print)
    : plan_(std::move(plan)),
      print_(std::move(print)),
      machine_(plan_.seed),
      random_(plan_.seed + 77) {
  uploads_.reserve(kUploads);
  const std::size_t sizes[] = {0, 1, 100, 3000, 5000, 20000, 66000, 130000};
  for (const std::size_t size : sizes) add_object(size);
  for (int i = 0; i < 4; ++i) add_object(200 + 100 * static_cast<std::size_t>(i));
  if (plan_.seed % 8 == 0) add_object(kPartBytes + 70000);
}

std::string History::run() {
  try {
    for (int i = 0; i < plan_.lives && violation_.empty(); ++i) live(i + 1 == plan_.lives);
    if (violation_.empty()) compare_with_rebuilt();
  } catch (const std::exception& stuck) {
    violate(stuck.what());
  }
  counts_.lost_changes = machine_.node.disk().lost_changes();
  return violation_;
}

std::string History::name_of(const ModelObject& object) const {
  return "object " + std::to_string(&object - objects_.data()) + " (" +
         std::to_string(object.bytes.size()) + " bytes)";
}

std::string History::name_of(const ModelUpload& upload) const {
  return "upload " + std::to_string(&upload - uploads_.data()) + " of " +
         name_of(objects_[upload.object]);
}

History::Presence History::ModelObject::presence() const {
  const auto any = [this](Presence hold) { return std::ranges::find(holds, hold) != holds.end(); };
  if (any(Presence::Present)) return Presence::Present;
  return any(Presence::Either) ? Presence::Either : Presence::Absent;
}

void History::ModelObject::doubt_all() {
  std::ranges::replace(holds, Presence::Present, Presence::Either);
}

void History::note(std::string_view what) const {
  if (!print_) return;
  const auto at = std::chrono::duration<double>(machine_.world.now().time_since_epoch()).count();
  print_(std::to_string(at) + "s  " + std::string(what));
}

void History::add_object(std::size_t size) {
  ModelObject object;
  object.bytes = sample_bytes(size, objects_.size());
  object.id = b3::hash(object.bytes);
  objects_.push_back(std::move(object));
}

void History::violate(const std::string& what) {
  note("VIOLATION: " + what);
  if (violation_.empty()) violation_ = what;
}

void History::start() {
  life_ = std::make_unique<Life>(machine_, plan_.options);
  if (!life_->opened) return violate("it does not open: " + life_->opened.error().message);
  const bool rebuilds = !life_->volume().health().readable;
  if (rebuilds) ++counts_.rebuilds;
  note(rebuilds ? "start, the index is lost" : "start");
  life_->wait_readable();
}

void History::live(bool last) {
  start();
  check_everything();
  const std::uint64_t steps = random_.below(40);
  machine_.world.faults() = plan_.faults;
  for (std::uint64_t i = 0; i < steps && violation_.empty(); ++i) step();
  machine_.world.faults() = {};
  if (!violation_.empty()) return;
  switch (last ? 0 : random_.below(4)) {
    case 0:
      await_answers();
      check_everything();
      note("stop");
      ++counts_.stops;
      if (violation_.empty()) life_->stop();
      end_life();
      break;
    case 1:
      be_busy();
      crash();
      break;
    default:
      be_busy();
      power_cut();
  }
  if (random_.below(4) == 0) lose_index();
  if (plan_.medium_fails && random_.below(2) == 0) damage_medium();
}

void History::await_answers() {
  for (int i = 0; i < 1000 && !outstanding_.empty(); ++i) advance(1ms);
  if (!outstanding_.empty()) violate("a write is never answered");
}

void History::end_life() {
  outstanding_.clear();
  life_.reset();
  for (ModelObject& object : objects_) object.busy = false;
  for (ModelUpload& upload : uploads_) upload.busy = false;
}

// Writes that are under way, at some moment of their batch, when the end comes.
void History::be_busy() {
  const std::uint64_t writes = random_.below(5);
  for (std::uint64_t i = 0; i < writes; ++i) {
    const std::uint64_t what = random_.below(4);
    what == 0 ? submit_upload() : what == 1 ? submit_remove() : submit_put();
  }
  advance(std::chrono::microseconds(random_.below(1'500)));
}

void History::crash() {
  note("crash");
  ++counts_.crashes;
  end_life();
  machine_.node.key_values().end_process();
}

void History::power_cut() {
  note("power cut");
  ++counts_.power_cuts;
  machine_.node.power_cut();
  end_life();
  machine_.node.restart();
}

void History::lose_index() { volume::lose_index(machine_); }

namespace {

// Every record of a segment, as they are.
platform::Task<void> find_records(platform::Disk* disk, std::string path, std::uint64_t number,
                                  std::vector<FoundRecord>* out) {
  auto identity_file = co_await disk->open("/data/VOLUME", {});
  auto text = co_await (*identity_file)->read_at(0, base::Buffer(base::Buffer::kPageBytes));
  const auto identity = parse_identity(base::as_text(text->view()));
  auto file = co_await disk->open(std::move(path), {});
  if (!file) co_return;
  auto size = co_await (*file)->size();
  auto segment = std::make_shared<Segment>(Segment{number, {}, std::move(*file)});
  SegmentScanner scanner(segment, identity->seal, 0, *size);
  for (;;) {
    auto found = co_await scanner.next();
    if (!found || !*found) co_return;
    out->push_back(std::move(**found));
  }
}

}  // namespace

// One bit flips, or one sector cannot be read from now on, somewhere in the log; the index is lost
// with it, as it is all that would know better.
void History::damage_medium() {
  platform::sim::SimDisk& disk = machine_.node.disk();
  const auto names = volume::run(machine_, disk.list("/data/segments"));
  if (!names || names->empty()) return;
  const std::string& name = (*names)[random_.below(names->size())].name;
  const std::string path = "/data/segments/" + name;
  std::uint64_t size = 0;
  {
    auto file = volume::run(machine_, disk.open(path, {}));
    if (!file) return;  // the process that died was about to remove it
    size = *volume::run(machine_, (*file)->size());
  }
  if (size == 0) return;
  // Mostly near the end: there, nothing but the records themselves says what was synced.
  const std::uint64_t span = random_.below(3) == 0 ? size : std::min<std::uint64_t>(size, 8'192);
  const std::uint64_t at = size - 1 - random_.below(span);
  std::vector<FoundRecord> records;
  machine_.run(find_records(&disk, path, *parse_segment_name(name), &records));
  const bool rots = random_.below(2) == 0;
  constexpr std::uint64_t kPage = base::Buffer::kPageBytes;
  const std::uint64_t begin = rots ? at : at / kPage * kPage;
  const std::uint64_t end = rots ? at + 1 : begin + kPage;
  for (const FoundRecord& found : records) {
    if (found.place.offset >= end || found.end() <= begin) continue;
    mark(found.record, rots && at >= found.place.offset + found.place.head_bytes);
  }
  note((rots ? "a bit flips in " : "a sector breaks in ") + name + " at " + std::to_string(at));
  ++(rots ? counts_.rotten : counts_.broken);
  if (rots) {
    disk.flip_bit(path, at, static_cast<unsigned>(random_.below(8)));
  } else {
    disk.break_sector(path, at);
  }
  lose_index();
}

void History::mark(const Record& record, bool payload_only) {
  const bool object_bytes = payload_only && record.kind == RecordKind::Object;
  for (ModelObject& object : objects_) {
    if (record.address != object.id) continue;
    (object_bytes ? object.rotten : object.unsure) = true;
  }
  for (ModelUpload& upload : uploads_) {
    if (object_bytes || record.upload != upload.id) continue;
    upload.unsure = true;
    objects_[upload.object].unsure = true;
  }
}

void History::advance(base::Duration time) {
  machine_.world.run_for(time);
  std::erase_if(outstanding_, [](const auto& poll) { return poll(); });
}

void History::step() {
  const std::uint64_t what = random_.below(20);
  if (what < 7) {
    submit_put();
  } else if (what < 10) {
    random_.below(8) == 0 ? submit_remove_outright() : submit_remove();
  } else if (what < 15) {
    submit_upload();
  } else if (what == 15) {
    note("compaction");
    ++counts_.compactions;
    life_->volume().request_compaction();
    advance(std::chrono::microseconds(50'000 + random_.below(20'000)));
  } else {
    advance(std::chrono::microseconds(random_.below(3'000)));
  }
}

History::ModelObject* History::idle_object() {
  ModelObject& object = objects_[random_.below(objects_.size())];
  return object.busy ? nullptr : &object;
}

void History::submit_put() {
  ModelObject* object = idle_object();
  if (object == nullptr || object->bytes.size() > kPartBytes) return;
  const std::size_t tenant = any_tenant();
  const Presence before = object->known();
  object->busy = true;
  Presence& hold = object->holds[tenant];
  if (hold != Presence::Present) hold = Presence::Either;
  const std::string name(kTenants[tenant]);
  watch("put " + name_of(*object) + " for '" + name + "'",
        put(machine_, life_->volume(), object->bytes, name),
        [this, object, tenant, before](auto answer) {
          object->busy = false;
          if (failed(answer, "a put")) return;
          if (before != Presence::Either && answer->is_new != (before == Presence::Absent)) {
            violate("a put is wrong about being new");
          }
          object->holds[tenant] = Presence::Present;
          if (answer->is_new) object->rotten = false;
        });
}

// An object that may go takes with it what its uploads were committed as.
void History::forget_commits_of(const ModelObject& object) {
  for (ModelUpload& upload : uploads_) {
    if (&objects_[upload.object] == &object) upload.remembered = false;
  }
}

void History::submit_remove() {
  ModelObject* object = idle_object();
  if (object == nullptr) return;
  const std::size_t tenant = any_tenant();
  Presence& hold = object->holds[tenant];
  const Presence before = object->unsure ? Presence::Either : hold;
  object->busy = true;
  if (hold != Presence::Absent) hold = Presence::Either;
  forget_commits_of(*object);
  const std::string name(kTenants[tenant]);
  watch("remove " + name_of(*object) + " for '" + name + "'",
        remove(machine_, life_->volume(), object->id, name),
        [this, object, tenant, before](auto answer) {
          object->busy = false;
          if (failed(answer, "a remove")) return;
          if (before != Presence::Either && answer.has_value() != (before == Presence::Present)) {
            violate("a remove is wrong about what was held");
          }
          object->holds[tenant] = Presence::Absent;
          const Presence left = object->presence();
          const bool told = answer && left != Presence::Either && !object->unsure;
          if (told && answer->gone != (left == Presence::Absent)) {
            violate("a remove is wrong about what is left");
          }
          if (!answer || !answer->gone) return;
          object->holds.fill(Presence::Absent);
          object->rotten = false;
        });
}

// Whoever holds it.
void History::submit_remove_outright() {
  ModelObject* object = idle_object();
  if (object == nullptr) return;
  const Presence before = object->known();
  object->busy = true;
  object->doubt_all();
  forget_commits_of(*object);
  watch("remove " + name_of(*object) + " outright",
        remove(machine_, life_->volume(), object->id, std::nullopt),
        [this, object, before](auto answer) {
          object->busy = false;
          if (failed(answer, "a remove")) return;
          if (before != Presence::Either && answer.has_value() != (before == Presence::Present)) {
            violate("a remove is wrong about what was there");
          }
          if (answer && !answer->gone) violate("something is left of what was removed outright");
          object->holds.fill(Presence::Absent);
          object->rotten = false;
        });
}

void History::submit_upload() {
  ModelUpload* upload = nullptr;
  for (ModelUpload& candidate : uploads_) {
    if (!candidate.over && !candidate.doubtful && !candidate.unsure) upload = &candidate;
  }
  if (upload == nullptr) {
    if (uploads_.size() >= kUploads) return;
    uploads_.push_back({});
    upload = &uploads_.back();
    upload->id = UploadId(uploads_.size(), 1, 1);
    upload->object = random_.below(objects_.size());
    upload->tenant = any_tenant();
    constexpr std::int64_t kTenYearsS = 315'360'000;
    if (uploads_.size() % 2 == 0) {
      upload->expires_unix_s = machine_.world.unix_ms() / 1000 + kTenYearsS;
    }
  }
  if (upload->busy) return;
  if (!upload->begun) return submit_begin(upload);
  const std::uint64_t what = random_.below(8);
  if (what == 0) return submit_abort(upload);
  if (what < 3) return submit_commit(upload);
  submit_part(upload);
}

void History::submit_begin(ModelUpload* upload) {
  const ModelObject& object = objects_[upload->object];
  upload->busy = true;
  watch("begin " + name_of(*upload),
        begin(machine_, life_->volume(),
              {upload->id, object.bytes.size(), object.id, std::string(kTenants[upload->tenant]),
               upload->expires_unix_s}),
        [this, upload](auto answer) {
          upload->busy = false;
          upload->begun = !failed(answer, "a begin");
        });
}

void History::submit_part(ModelUpload* upload) {
  const std::vector<std::byte>& bytes = objects_[upload->object].bytes;
  if (bytes.empty()) return;
  const std::uint64_t part = random_.below((bytes.size() - 1) / kPartBytes + 1);
  const base::ByteView rest = base::ByteView(bytes).subspan(part * kPartBytes);
  upload->busy = true;
  upload->submitted.insert(part);
  watch("part " + name_of(*upload),
        put_part(machine_, life_->volume(), upload->id, part,
                 rest.first(std::min<std::size_t>(rest.size(), kPartBytes))),
        [this, upload, part](auto answer) {
          upload->busy = false;
          if (!failed(answer, "a part")) upload->parts.insert(part);
          if (!answer && answer.error().code == Code::NotFound) violate("an upload is lost");
        });
}

void History::submit_commit(ModelUpload* upload) {
  ModelObject* object = &objects_[upload->object];
  if (object->busy) return;
  const bool whole =
      object->bytes.empty() || upload->parts.size() == (object->bytes.size() - 1) / kPartBytes + 1;
  if (!whole && upload->parts != upload->submitted) return;  // nobody knows
  upload->busy = object->busy = true;
  upload->doubtful = whole;
  Presence& hold = object->holds[upload->tenant];
  if (whole && hold != Presence::Present) hold = Presence::Either;
  watch("commit " + name_of(*upload), commit(machine_, life_->volume(), upload->id),
        [=, this](auto answer) {
          upload->busy = object->busy = false;
          const bool incomplete = !answer && answer.error().code == Code::PreconditionFailed;
          if (!incomplete && failed(answer, "a commit")) return;
          upload->doubtful = false;
          if (answer.has_value() != whole) return violate("a commit is wrong about its parts");
          if (!whole) return;
          if (answer->id != object->id) violate("a commit makes another object");
          object->holds[upload->tenant] = Presence::Present;
          upload->over = true;
          upload->remembered = upload->expires_unix_s != 0;
        });
}

void History::submit_abort(ModelUpload* upload) {
  upload->busy = upload->doubtful = true;
  watch("abort " + name_of(*upload), abort(machine_, life_->volume(), upload->id),
        [this, upload](auto answer) {
          upload->busy = false;
          if (failed(answer, "an abort")) return;
          upload->doubtful = false;
          upload->over = true;
        });
}

void History::check_everything() {
  if (!violation_.empty()) return;
  life_->wait_readable();
  std::uint64_t present = 0;
  bool sure = true;
  counts_.checks += objects_.size() + uploads_.size();
  for (ModelObject& object : objects_) {
    const auto bytes = get(machine_, life_->volume(), object.id);
    if (object.unsure) {
      sure = false;
      if (bytes && *bytes != object.bytes) return violate("wrong bytes: " + name_of(object));
      continue;
    }
    if (object.rotten && !bytes && bytes.error().code == Code::IntegrityFail) {
      ++present;
      check_holds(object);
      continue;
    }
    if (!bytes && bytes.error().code != Code::NotFound) {
      return violate("a read fails: " + bytes.error().message);
    }
    if (bytes && *bytes != object.bytes) return violate("wrong bytes: " + name_of(object));
    const Presence before = object.presence();
    if (!bytes && before == Presence::Present) return violate("lost: " + name_of(object));
    if (bytes && before == Presence::Absent) return violate("back: " + name_of(object));
    check_holds(object);
    if (bytes && object.presence() == Presence::Absent) {
      return violate("held by nobody: " + name_of(object));
    }
    present += bytes ? 1 : 0;
  }
  if (sure && life_->volume().stats().objects != present) {
    violate("the count of objects is wrong");
  }
  if (sure) check_usage();
  for (ModelUpload& upload : uploads_) check_upload(upload);
}

void History::check_holds(ModelObject& object) {
  std::vector<std::string> expected;
  for (std::size_t i = 0; i < kTenants.size(); ++i) {
    const std::string tenant(kTenants[i]);
    const auto held = volume::run(machine_, life_->volume().holds(object.id, tenant, {}));
    if (!held) return violate("a hold cannot be read: " + held.error().message);
    const std::string what = name_of(object) + " of '" + tenant + "'";
    Presence& hold = object.holds[i];
    if (!*held && hold == Presence::Present) return violate("a hold is lost: " + what);
    if (*held && hold == Presence::Absent) return violate("a hold is back: " + what);
    hold = *held ? Presence::Present : Presence::Absent;
    if (*held) expected.push_back(tenant);
  }
  std::ranges::sort(expected);
  const auto found = volume::run(machine_, life_->volume().holders(object.id, kTenants.size(), {}));
  const bool listed = found ? found->tenants == expected && !found->more : expected.empty();
  if (!listed) violate("the list of holders is wrong: " + name_of(object));
}

void History::check_usage() {
  for (std::size_t i = 0; i < kTenants.size(); ++i) {
    Usage expected;
    for (const ModelObject& object : objects_) {
      if (object.holds[i] != Presence::Present) continue;
      expected.bytes += object.bytes.size();
      ++expected.objects;
    }
    if (life_->volume().usage(kTenants[i]) != expected) {
      violate("a tenant's use is wrong: '" + std::string(kTenants[i]) + "'");
    }
  }
}

void History::check_upload(ModelUpload& upload) {
  if (upload.unsure) return;
  const auto found = volume::run(machine_, life_->volume().find_upload(upload.id, {}));
  if (!found && found.error().code != Code::NotFound) return violate("an upload fails");
  const bool committed = found && found->committed;
  if (committed && found->committed != objects_[upload.object].id) {
    return violate("an upload was committed as another object");
  }
  if (committed && !upload.over && !upload.doubtful) return violate("nobody committed an upload");
  const bool sure = !objects_[upload.object].unsure;
  if (upload.remembered && !committed && sure) return violate("a commit is forgotten");
  if (committed) {
    upload.over = true;
    upload.doubtful = false;
    return;
  }
  if (found && upload.over) return violate("an upload is back");
  if (!found && upload.begun && !upload.over && !upload.doubtful) {
    return violate("an upload is lost");
  }
  if (upload.doubtful && !found) upload.over = true;
  upload.doubtful = false;
  if (!found) return;
  upload.begun = true;
  std::set<std::uint64_t> there;
  for (const PartRange& range : found->arrived) {
    for (std::uint64_t part = range.first; part <= range.last; ++part) there.insert(part);
  }
  if (!std::ranges::includes(there, upload.parts)) return violate("a part is lost");
  if (!std::ranges::includes(upload.submitted, there)) return violate("a part from nowhere");
  upload.parts = upload.submitted = there;
}

// The index made anew from the log comes to the same as the one that grew with it.
void History::compare_with_rebuilt() {
  start();
  if (!violation_.empty()) return;
  const VolumeStats grown = life_->volume().stats();
  life_->stop();
  end_life();
  lose_index();
  start();
  check_everything();
  if (!violation_.empty() || plan_.medium_fails) return;
  const VolumeStats made = life_->volume().stats();
  if (made.objects != grown.objects || made.object_bytes != grown.object_bytes) {
    violate("a rebuilt index counts other objects");
  }
  if (made.uploads != grown.uploads) violate("a rebuilt index counts other uploads");
  // It may find a tombstone again that was dropped together with a segment, had the power not
  // gone before that was removed.
  if (made.stored_bytes != grown.stored_bytes || made.dead_bytes > grown.dead_bytes) {
    violate("a rebuilt index counts other bytes: stored " + std::to_string(grown.stored_bytes) +
            " -> " + std::to_string(made.stored_bytes) + ", dead " +
            std::to_string(grown.dead_bytes) + " -> " + std::to_string(made.dead_bytes));
  }
  life_->stop();
  end_life();
}

}  // namespace ron::volume
