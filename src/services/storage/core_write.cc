// Core: storing and removing objects, and uploads.
//
// What has to be so before a client hears of its change, and also when it has gone meanwhile, is
// done as the reply is delivered (before_delivery).
#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "b3/hash.h"
#include "base/about.h"
#include "services/storage/core.h"

namespace ron::storage {

using base::Code;
using base::fail;
using base::Result;
using platform::Task;
using volume::PartRange;

namespace {

base::Error no_upload() { return {Code::NotFound, "there is no such upload"}; }

// "0-3,7": the parts that are not there, the first few ranges of them.
std::string missing_parts(const volume::UploadState& state) {
  constexpr int kRanges = 16;
  std::string out;
  int ranges = 0;
  std::uint64_t next = 0;
  const auto say = [&](std::uint64_t until) {
    if (next >= until) return;
    if (++ranges > kRanges) return;
    out += (out.empty() ? "" : ",") + std::to_string(next);
    if (until - next > 1) out += "-" + std::to_string(until - 1);
  };
  for (const PartRange& range : state.arrived) {
    say(range.first);
    next = range.last + 1;
  }
  say(state.upload.parts());
  return ranges > kRanges ? out + ",..." : out;
}

std::uint64_t arrived_parts(const volume::UploadState& state) {
  std::uint64_t count = 0;
  for (const PartRange& range : state.arrived) count += range.last - range.first + 1;
  return count;
}

// Volumes keep them for what has more than one group, and they make the address: hashed once.
std::vector<b3::ChainingValue> values_of_groups(base::ByteView bytes) {
  if (bytes.size() <= b3::kGroupBytes) return {};
  std::vector<b3::ChainingValue> values(b3::group_count(bytes.size()));
  b3::group_values(bytes, 0, values);
  return values;
}

base::ObjectId address_of(base::ByteView bytes, std::span<const b3::ChainingValue> groups) {
  if (groups.empty()) return b3::hash(bytes);
  return *b3::root_of(bytes.size(), b3::kGroupBytes, groups);
}

Result<Stored> stored(const Result<volume::Added>& added) {
  if (!added) return fail(added.error());
  return Stored{added->id, added->length, added->is_new};
}

}  // namespace

void Core::announce_stored(const Result<volume::Added>& added, Origin origin) {
  if (!added || !added->is_new) return;
  stored_bytes_.add(added->length);
  events_.send({StorageEvent::Kind::Stored, added->id, added->length, std::move(origin)});
}

// Room in the tenant's quota. What it holds already (`id`) costs nothing to store again.
Task<Result<Quotas::Reservation>> Core::reserve(std::string tenant, std::uint64_t bytes,
                                                std::optional<base::ObjectId> id,
                                                runtime::Deadline deadline) {
  if (!quotas_.any()) co_return Quotas::Reservation();
  uploads_.drop_expired(now_s());
  auto reserved = quotas_.reserve(tenant, {bytes, 1},
                                  [this](std::string_view whose) { return volumes_.usage(whose); });
  if (reserved || !id) co_return reserved;
  const Result<bool> held = co_await volumes_.holds(*id, std::move(tenant), deadline);
  if (held && *held) co_return Quotas::Reservation();
  co_return reserved;
}

Task<Result<Stored>> Core::put(NewBytes asked, runtime::Deadline deadline) {
  PutJob job;
  job.bytes = std::move(asked.bytes);
  job.expected = asked.expected;
  job.tenant = std::move(asked.tenant);
  job.origin = std::move(asked.origin);
  job.announced = coming_writes_.announce();
  job.deadline = deadline;
  const auto added = co_await work_.ask(std::move(job), kit::WhenFull::Refuse);
  co_return stored(added);
}

// Checks the bytes against their address before anyone can see them.
Task<void> Core::run(PutJob job) {
  platform::Executor::current()->spend(job.bytes.size());
  volume::NewObject object;
  object.groups = values_of_groups(job.bytes.view());
  const base::ObjectId id = object.id = address_of(job.bytes.view(), object.groups);
  if (job.expected && *job.expected != id) {
    std::move(*job.reply)
        .send(fail(base::Error(Code::HashMismatch, "the bytes have another address")
                       .with("expected", job.expected->text())
                       .with("actual", id.text())));
    co_return;
  }
  auto reserved = co_await reserve(job.tenant, job.bytes.size(), id, job.deadline);
  if (!reserved) {
    std::move(*job.reply).send(fail(reserved.error()));
    co_return;
  }
  job.reply->before_delivery([this, held = std::move(*reserved), origin = std::move(job.origin)](
                                 const Result<volume::Added>* added) mutable {
    if (added != nullptr) announce_stored(*added, std::move(origin));
  });
  volume::Volume* const volume = co_await volumes_.for_put(id, job.tenant, job.deadline);
  object.bytes = std::move(job.bytes);
  object.tenant = std::move(job.tenant);
  object.announced = std::move(job.announced);
  co_await volume->put(std::move(object), job.deadline, std::move(*job.reply));
}

// From every volume that has it; a damaged one is removed like any other.
Task<Result<void>> Core::remove(volume::Removal removal, Call call) {
  bool removed = false;
  base::Error why(Code::NotFound, "no object is stored under this address");
  for (const auto& volume : volumes_.all()) {
    const Result<volume::ObjectHandle> at = co_await volume->locate(removal.id, call.deadline);
    if (!at && at.error().code == Code::NotFound) continue;
    if (!at && at.error().code != Code::IntegrityFail) {
      why = at.error();
      continue;
    }
    RemoveJob job;
    job.volume = volume.get();
    job.removal = removal;
    job.origin = call.origin;
    job.deadline = call.deadline;
    const Result<volume::Removed> done = co_await work_.ask(std::move(job), kit::WhenFull::Refuse);
    if (done) {
      removed = true;
    } else if (done.error().code != Code::NotFound) {
      co_return fail(done.error());
    }
  }
  if (!removed) co_return fail(std::move(why));
  co_return Result<void>();
}

Task<void> Core::run(RemoveJob job) {
  job.reply->before_delivery([this, id = job.removal.id, origin = std::move(job.origin)](
                                 const Result<volume::Removed>* removed) mutable {
    const bool done = removed != nullptr && *removed;
    // Nobody may read from memory what nobody could read again after a restart. What others hold
    // stays there, also when somebody asks who holds nothing.
    const bool kept =
        done ? !(*removed)->gone : removed != nullptr && removed->error().code == Code::NotFound;
    if (!kept) cache_.erase(id);
    if (!done) return;
    using Kind = StorageEvent::Kind;
    events_.send({(*removed)->gone ? Kind::Removed : Kind::Released, id, (*removed)->length,
                  std::move(origin)});
  });
  co_await job.volume->remove(std::move(job.removal), job.deadline, std::move(*job.reply));
}

Task<Result<volume::Upload>> Core::begin_upload(NewUpload asked, runtime::Deadline deadline) {
  struct Beginning {
    std::atomic<std::uint64_t>& count;
    const std::uint64_t before = count.fetch_add(1, std::memory_order_relaxed);
    ~Beginning() { count.fetch_sub(1, std::memory_order_relaxed); }
  } const beginning{beginning_};
  const std::uint64_t open = volumes_.totals().uploads + beginning.before;
  if (open >= uploads_.max_open()) {
    co_return fail(base::Error(Code::Quota, "too many uploads are open")
                       .with("what", "uploads")
                       .with("used", std::to_string(open))
                       .with("limit", std::to_string(uploads_.max_open()))
                       .with("asked", "1"));
  }
  volume::Volume* const volume = volumes_.most_free();
  const std::uint64_t free_bytes = volume->stats().free_bytes;
  if (asked.length > free_bytes) {
    const std::string kept = memory_ != nullptr ? " of storage.cache_bytes"
                                                : ", of which storage.min_free_bytes is kept";
    const std::string message = "there is no room for " + base::about(asked.length) + ": " +
                                base::about(free_bytes) + " are free" + kept;
    co_return fail(base::Error(Code::StorageFull, message)
                       .with("length", std::to_string(asked.length))
                       .with("free_bytes", std::to_string(free_bytes)));
  }
  auto reserved = co_await reserve(asked.tenant, asked.length, asked.expected, deadline);
  if (!reserved) co_return fail(reserved.error());
  volume::Upload upload;
  upload.id =
      volume::UploadId(static_cast<std::uint64_t>(host_.clock.unix_ms()),
                       static_cast<std::uint16_t>(host_.random.next()), host_.random.next());
  upload.length = asked.length;
  upload.expected = asked.expected;
  upload.tenant = std::move(asked.tenant);
  upload.expires_unix_s = now_s() + expire_after_s_.load(std::memory_order_relaxed);
  BeginJob job;
  job.volume = volume;
  job.upload = upload;
  job.deadline = deadline;
  const Result<bool> begun = co_await work_.ask(std::move(job), kit::WhenFull::Refuse);
  if (!begun) co_return fail(begun.error());
  uploads_.add({volume, upload}, std::move(*reserved), now_s());
  co_return upload;
}

Task<void> Core::run(BeginJob job) {
  co_await job.volume->begin_upload(std::move(job.upload), job.deadline, std::move(*job.reply));
}

// The tenant's own, open or committed. What older versions have committed does not say when it
// would have expired.
Task<Result<UploadOnVolume>> Core::find_upload(volume::UploadId id, std::string tenant,
                                               runtime::Deadline deadline) {
  Result<UploadOnVolume> found = co_await volumes_.find_upload(id, deadline);
  if (!found) co_return found;
  const volume::UploadState& state = found->state;
  const std::int64_t expires = state.upload.expires_unix_s;
  const bool for_ever = state.committed && expires == 0;
  if (state.upload.tenant != tenant || (expires <= now_s() && !for_ever)) {
    co_return fail(no_upload());
  }
  co_return found;
}

Task<Result<OpenUpload>> Core::open_upload(volume::UploadId id, std::string tenant,
                                           runtime::Deadline deadline) {
  if (auto known = uploads_.find(id, now_s())) {
    if (known->upload.tenant != tenant) co_return fail(no_upload());
    co_return std::move(*known);
  }
  Result<UploadOnVolume> found = co_await find_upload(id, tenant, deadline);
  if (!found) co_return fail(found.error());
  if (found->state.committed) co_return fail(no_upload());
  OpenUpload open{found->volume, std::move(found->state.upload)};
  // Begun before a restart: its room was granted then, if the quota has shrunk it is kept all the
  // same.
  auto reserved = co_await reserve(tenant, open.upload.length, std::nullopt, deadline);
  uploads_.add(open, reserved ? std::move(*reserved) : Quotas::Reservation(), now_s());
  co_return open;
}

Task<Result<volume::UploadState>> Core::upload_state(volume::UploadId id, std::string tenant,
                                                     runtime::Deadline deadline) {
  Result<UploadOnVolume> found = co_await find_upload(id, std::move(tenant), deadline);
  if (!found) co_return fail(found.error());
  if (found->state.committed) co_return fail(no_upload());
  co_return std::move(found->state);
}

Task<Result<b3::ChainingValue>> Core::put_part(OpenUpload open, std::uint64_t part,
                                               base::Buffer bytes, runtime::Deadline deadline) {
  PartJob job;
  job.volume = open.volume;
  job.part = {open.upload.id, part, std::move(bytes), coming_writes_.announce()};
  job.deadline = deadline;
  co_return co_await work_.ask(std::move(job), kit::WhenFull::Refuse);
}

Task<void> Core::run(PartJob job) {
  platform::Executor::current()->spend(job.part.bytes.size());
  co_await job.volume->put_part(std::move(job.part), job.deadline, std::move(*job.reply));
}

Task<Result<Stored>> Core::commit_upload(volume::UploadId id, std::string tenant, Call call) {
  const Result<UploadOnVolume> found = co_await find_upload(id, std::move(tenant), call.deadline);
  if (!found) co_return fail(found.error());
  const volume::UploadState& state = found->state;
  const std::uint64_t arrived = arrived_parts(state);
  if (!state.committed && arrived != state.upload.parts()) {
    co_return fail(base::Error(Code::PreconditionFailed, "parts of the upload are missing")
                       .with("missing", missing_parts(state))
                       .with("missing_parts", std::to_string(state.upload.parts() - arrived)));
  }
  // Who commits again asks the volume, too: the object may have been removed meanwhile.
  CommitJob job;
  job.volume = found->volume;
  job.upload = id;
  job.origin = std::move(call.origin);
  job.deadline = call.deadline;
  const Result<volume::Added> added = co_await work_.ask(std::move(job), kit::WhenFull::Refuse);
  co_return stored(added);
}

Task<void> Core::run(CommitJob job) {
  job.reply->before_delivery([this, id = job.upload, origin = std::move(job.origin)](
                                 const Result<volume::Added>* added) mutable {
    if (added == nullptr || !*added) return;
    uploads_.drop(id);
    announce_stored(*added, std::move(origin));
  });
  co_await job.volume->commit_upload(job.upload, job.deadline, std::move(*job.reply));
}

Task<Result<void>> Core::abort_upload(volume::UploadId id, std::string tenant,
                                      runtime::Deadline deadline) {
  const Result<OpenUpload> open = co_await open_upload(id, std::move(tenant), deadline);
  if (!open) co_return fail(open.error());
  AbortJob job;
  job.volume = open->volume;
  job.upload = id;
  job.deadline = deadline;
  const Result<bool> aborted = co_await work_.ask(std::move(job), kit::WhenFull::Refuse);
  if (!aborted) co_return fail(aborted.error());
  co_return Result<void>();
}

Task<void> Core::run(AbortJob job) {
  job.reply->before_delivery([this, id = job.upload](const Result<bool>* aborted) {
    if (aborted != nullptr && *aborted) uploads_.drop(id);
  });
  co_await job.volume->abort_upload(job.upload, job.deadline, std::move(*job.reply));
}

}  // namespace ron::storage
