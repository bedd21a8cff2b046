#include "services/storage/ram_volume.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "b3/hash.h"
#include "base/about.h"
#include "services/storage/wires.h"

namespace ron::storage {

using base::Code;
using base::fail;
using base::Result;
using platform::Task;
using volume::kPartBytes;

namespace {

// What a part or an upload costs besides its bytes, rounded up.
constexpr std::uint64_t kPartOverheadBytes = 192;

std::uint64_t part_cost(std::uint64_t bytes) { return bytes + kPartOverheadBytes; }

base::Error no_upload() { return {Code::NotFound, "there is no such upload"}; }

base::Error being_committed() {
  return {Code::PreconditionFailed, "the upload is being committed"};
}

base::Buffer copy_of(base::ByteView bytes) {
  base::Buffer copy(bytes.size());
  if (!bytes.empty()) std::memcpy(copy.data(), bytes.data(), bytes.size());
  return copy;
}

}  // namespace

TenantTable::TenantTable() : lock_(kTenantsLock) {}

OwnerNumber TenantTable::charge(std::string_view tenant, std::uint64_t bytes) {
  const std::lock_guard guard(lock_);
  auto found = numbers_.find(tenant);
  if (found == numbers_.end()) {
    found = numbers_.emplace(tenant, static_cast<OwnerNumber>(usage_.size())).first;
    usage_.emplace_back();
  }
  usage_[found->second].bytes += bytes;
  ++usage_[found->second].objects;
  return found->second;
}

void TenantTable::refund(OwnerNumber owner, std::uint64_t bytes) {
  const std::lock_guard guard(lock_);
  usage_[owner].bytes -= bytes;
  --usage_[owner].objects;
}

volume::Usage TenantTable::usage(std::string_view tenant) const {
  const std::lock_guard guard(lock_);
  const auto found = numbers_.find(tenant);
  return found == numbers_.end() ? volume::Usage() : usage_[found->second];
}

// An object in the parts it came in, whose room it gives back.
struct RamVolume::LargeObject {
  explicit LargeObject(RoomPtr taken) : room(std::move(taken)) {}
  LargeObject(const LargeObject&) = delete;
  LargeObject& operator=(const LargeObject&) = delete;
  ~LargeObject() { room->release(cost()); }

  RoomPtr room;
  std::uint64_t length = 0;
  OwnerNumber owner = 0;
  std::vector<base::Buffer> parts;

  [[nodiscard]] std::uint64_t cost() const noexcept {
    return length + parts.size() * kPartOverheadBytes;
  }
};

// What a Located of this volume keeps alive: one of the two.
struct RamVolume::Place {
  ObjectPtr whole;
  LargePtr large;
};

RamVolume::RamVolume(std::uint64_t capacity_bytes, platform::SendArena& arena,
                     const platform::Clock& clock)
    : arena_(arena), clock_(clock), store_(capacity_bytes), lock_(kUploadsLock) {}

RamVolume::~RamVolume() = default;

RamVolume::LargePtr RamVolume::find_large(const base::ObjectId& id) const {
  const std::lock_guard guard(lock_);
  const auto found = large_.find(id);
  return found == large_.end() ? nullptr : found->second;
}

Task<Result<volume::Located>> RamVolume::locate(base::ObjectId id) {
  Place place{store_.find(id), nullptr};
  if (!place.whole) place.large = find_large(id);
  if (!place.whole && !place.large) {
    co_return fail(Code::NotFound, "no object is stored under this address");
  }
  const std::uint64_t length = place.whole ? place.whole->bytes().size() : place.large->length;
  co_return volume::Located{id, length, std::make_shared<const Place>(std::move(place))};
}

Task<Result<volume::Piece>> RamVolume::read(volume::Located object, std::uint64_t offset,
                                            std::uint64_t length) {
  const auto* place = static_cast<const Place*>(object.place.get());
  const base::ByteView part =
      place->whole ? place->whole->bytes() : place->large->parts[offset / kPartBytes].view();
  const std::uint64_t from = place->whole ? offset : offset % kPartBytes;
  volume::Piece piece;
  piece.bytes = part.subspan(from, std::min<std::uint64_t>(length, part.size() - from));
  piece.owner = std::move(object.place);
  co_return piece;
}

Result<volume::Added> RamVolume::store(volume::NewObject object) {
  const std::uint64_t length = object.bytes.size();
  if (find_large(object.id)) return volume::Added{object.id, length, false};
  const OwnerNumber owner = tenants_.charge(object.tenant, length);
  auto whole = std::make_shared<const Object>(object.id, std::move(object.bytes), arena_);
  Result<Adding> added = store_.add(whole, owner);
  if (!added) {
    drop_expired();
    added = store_.add(std::move(whole), owner);
  }
  const bool is_new = added && *added == Adding::New;
  if (is_new) {
    object_bytes_.fetch_add(length, std::memory_order_relaxed);
  } else {
    tenants_.refund(owner, length);
  }
  if (!added) return fail(added.error());
  return volume::Added{object.id, length, is_new};
}

Task<void> RamVolume::put(volume::NewObject object, runtime::Deadline,
                          volume::Reply<volume::Added> reply) {
  std::move(reply).send(store(std::move(object)));
  co_return;
}

Task<void> RamVolume::remove(base::ObjectId id, runtime::Deadline,
                             volume::Reply<std::uint64_t> reply) {
  std::optional<RamStore::Kept> whole = store_.remove(id);
  LargePtr large;
  {
    const std::lock_guard guard(lock_);
    const auto found = large_.find(id);
    if (found != large_.end()) {
      large = std::move(found->second);
      large_.erase(found);
    }
  }
  std::uint64_t length = 0;
  if (whole) {
    length = whole->object->bytes().size();
    tenants_.refund(whole->owner, length);
    object_bytes_.fetch_sub(length, std::memory_order_relaxed);
  }
  if (large) {
    length = large->length;
    tenants_.refund(large->owner, length);
    object_bytes_.fetch_sub(length, std::memory_order_relaxed);
  }
  if (!whole && !large) {
    std::move(reply).send(fail(Code::NotFound, "no object is stored under this address"));
    co_return;
  }
  // Who is told may want the room at once.
  whole.reset();
  large.reset();
  std::move(reply).send(length);
}

Result<bool> RamVolume::begin(volume::Upload upload) {
  drop_expired();
  const std::uint64_t capacity = store_.capacity();
  const std::uint64_t used = std::min(store_.used_bytes(), capacity);
  if (upload.length > capacity - used) {
    return fail(
        base::Error(Code::StorageFull, "there is no room for " + base::about(upload.length) + ": " +
                                           base::about(capacity - used) + " are free of the " +
                                           base::about(capacity) + " of storage.cache_bytes")
            .with("length", std::to_string(upload.length))
            .with("free_bytes", std::to_string(capacity - used)));
  }
  const Result<void> room = store_.reserve(kPartOverheadBytes);
  if (!room) return fail(room.error());
  auto open = std::make_shared<OpenUpload>();
  open->upload = std::move(upload);
  const std::string key(open->upload.id.text());
  const std::lock_guard guard(lock_);
  const bool is_new = uploads_.emplace(key, std::move(open)).second;
  if (!is_new) store_.release(kPartOverheadBytes);
  return is_new;
}

Task<void> RamVolume::begin_upload(volume::Upload upload, runtime::Deadline,
                                   volume::Reply<bool> reply) {
  std::move(reply).send(begin(std::move(upload)));
  co_return;
}

Result<b3::ChainingValue> RamVolume::keep_part(volume::NewPart part) {
  constexpr std::uint64_t kChunksPerPart = kPartBytes / base::limits::kChunkBytes;
  const std::uint64_t cost = part_cost(part.bytes.size());
  const Result<void> room = store_.reserve(cost);
  if (!room) return fail(room.error());
  const b3::ChainingValue value = b3::subtree(part.bytes.view(), part.part * kChunksPerPart);
  const std::lock_guard guard(lock_);
  const auto found = uploads_.find(part.upload.text());
  const bool is_open = found != uploads_.end() && found->second->upload.expires_unix_s > now_s();
  if (!is_open || found->second->committing) {
    store_.release(cost);
    if (!is_open) return fail(no_upload());
    return fail(being_committed());
  }
  OpenUpload& upload = *found->second;
  if (part.part >= upload.upload.parts() ||
      part.bytes.size() != upload.upload.part_length(part.part)) {
    store_.release(cost);
    return fail(Code::Malformed, "the upload has no such part of that length");
  }
  Part& kept = upload.parts[part.part];
  if (kept.bytes.size() > 0) store_.release(cost);  // a repetition takes the place of the first
  kept = {std::move(part.bytes), value};
  return value;
}

Task<void> RamVolume::put_part(volume::NewPart part, runtime::Deadline,
                               volume::Reply<b3::ChainingValue> reply) {
  std::move(reply).send(keep_part(std::move(part)));
  co_return;
}

// The upload for the one who commits it, if all of it is there.
Result<RamVolume::UploadPtr> RamVolume::claim(const volume::UploadId& id) {
  const std::lock_guard guard(lock_);
  const auto found = uploads_.find(id.text());
  if (found == uploads_.end() || found->second->upload.expires_unix_s <= now_s()) {
    return fail(no_upload());
  }
  OpenUpload& upload = *found->second;
  if (upload.committing) {
    return fail(being_committed());
  }
  std::uint64_t first_missing = 0;
  for (const auto& [number, part] : upload.parts) {
    if (number != first_missing) break;
    ++first_missing;
  }
  if (first_missing != upload.upload.parts()) {
    return fail(base::Error(Code::PreconditionFailed, "parts of the upload are missing")
                    .with("first_missing", std::to_string(first_missing)));
  }
  upload.committing = true;
  return found->second;
}

Result<volume::Added> RamVolume::publish_small(OpenUpload& upload, const base::ObjectId& id) {
  const std::uint64_t length = upload.upload.length;
  base::Buffer bytes;
  if (length > 0) bytes = std::move(upload.parts.at(0).bytes);
  const OwnerNumber owner = tenants_.charge(upload.upload.tenant, length);
  const auto whole = std::make_shared<const Object>(id, std::move(bytes), arena_);
  const std::uint64_t reserved = length > 0 ? part_cost(length) : 0;
  const Result<Adding> added = store_.add(whole, owner, reserved);
  const bool is_new = added && *added == Adding::New;
  if (is_new) {
    object_bytes_.fetch_add(length, std::memory_order_relaxed);
    upload.parts.clear();
  } else {
    tenants_.refund(owner, length);
  }
  if (!added) {
    if (length > 0) upload.parts.at(0).bytes = copy_of(whole->bytes());
    return fail(added.error());
  }
  if (!is_new && length > 0) upload.parts.at(0).bytes = copy_of(whole->bytes());
  return volume::Added{id, length, is_new};
}

Result<volume::Added> RamVolume::publish(OpenUpload& upload, const base::ObjectId& id) {
  const std::uint64_t length = upload.upload.length;
  if (store_.find(id) || find_large(id)) return volume::Added{id, length, false};
  if (length <= kPartBytes) return publish_small(upload, id);
  auto large = std::make_shared<LargeObject>(store_.room());
  large->length = length;
  large->owner = tenants_.charge(upload.upload.tenant, length);
  large->parts.reserve(upload.parts.size());
  for (auto& [number, part] : upload.parts) large->parts.push_back(std::move(part.bytes));
  upload.parts.clear();
  const OwnerNumber owner = large->owner;
  const std::lock_guard guard(lock_);
  const bool is_new = large_.emplace(id, std::move(large)).second;
  if (is_new) {
    object_bytes_.fetch_add(length, std::memory_order_relaxed);
  } else {
    tenants_.refund(owner, length);
  }
  return volume::Added{id, length, is_new};
}

Result<volume::Added> RamVolume::commit(const volume::UploadId& id) {
  const Result<UploadPtr> claimed = claim(id);
  if (!claimed) return fail(claimed.error());
  OpenUpload& upload = **claimed;
  Result<base::ObjectId> address = base::ObjectId();
  if (upload.upload.length <= kPartBytes) {
    const bool is_empty = upload.parts.empty();
    address = b3::hash(is_empty ? base::ByteView() : upload.parts.at(0).bytes.view());
  } else {
    std::vector<b3::ChainingValue> values;
    for (const auto& [number, part] : upload.parts) values.push_back(part.value);
    address = b3::root_of(upload.upload.length, kPartBytes, values);
  }
  Result<volume::Added> added = fail(Code::Internal, "the parts have no address");
  if (address && upload.upload.expected && *upload.upload.expected != *address) {
    added = fail(base::Error(Code::HashMismatch, "the parts have another address")
                     .with("expected", upload.upload.expected->text())
                     .with("actual", address->text()));
  } else if (address) {
    added = publish(upload, *address);
  }
  if (added) {
    static_cast<void>(drop_upload(id, Dropper::Committer));
  } else {
    const std::lock_guard guard(lock_);
    upload.committing = false;
  }
  return added;
}

Task<void> RamVolume::commit_upload(volume::UploadId upload, runtime::Deadline,
                                    volume::Reply<volume::Added> reply) {
  std::move(reply).send(commit(upload));
  co_return;
}

void RamVolume::release_parts(const OpenUpload& upload) const noexcept {
  std::uint64_t cost = kPartOverheadBytes;
  for (const auto& [number, part] : upload.parts) cost += part_cost(part.bytes.size());
  store_.release(cost);
}

Result<bool> RamVolume::drop_upload(const volume::UploadId& id, Dropper dropper) {
  UploadPtr dropped;  // freed after the lock is let go
  const std::lock_guard guard(lock_);
  const auto found = uploads_.find(id.text());
  if (found == uploads_.end()) return fail(no_upload());
  if (found->second->committing && dropper != Dropper::Committer) return fail(being_committed());
  dropped = std::move(found->second);
  uploads_.erase(found);
  release_parts(*dropped);
  return true;
}

void RamVolume::drop_expired() const {
  const std::int64_t now = now_s();
  std::vector<UploadPtr> dropped;  // freed after the lock is let go
  const std::lock_guard guard(lock_);
  for (auto at = uploads_.begin(); at != uploads_.end();) {
    if (at->second->upload.expires_unix_s > now || at->second->committing) {
      ++at;
      continue;
    }
    release_parts(*at->second);
    dropped.push_back(std::move(at->second));
    at = uploads_.erase(at);
  }
}

Task<void> RamVolume::abort_upload(volume::UploadId upload, runtime::Deadline,
                                   volume::Reply<bool> reply) {
  std::move(reply).send(drop_upload(upload, Dropper::Client));
  co_return;
}

Task<Result<volume::UploadState>> RamVolume::find_upload(volume::UploadId upload) {
  drop_expired();
  const std::lock_guard guard(lock_);
  const auto found = uploads_.find(upload.text());
  if (found == uploads_.end()) co_return fail(no_upload());
  volume::UploadState state;
  state.upload = found->second->upload;
  for (const auto& [number, part] : found->second->parts) {
    if (state.arrived.empty() || state.arrived.back().last + 1 != number) {
      state.arrived.push_back({number, number});
    } else {
      state.arrived.back().last = number;
    }
  }
  co_return state;
}

Task<Result<std::vector<RamVolume::Listed>>> RamVolume::list(std::optional<base::ObjectId> after,
                                                             std::size_t limit) {
  std::vector<Listed> all;
  for (const ObjectPtr& object : store_.list(after, limit)) {
    all.push_back({object->id, object->bytes().size()});
  }
  const std::size_t whole = all.size();
  {
    const std::lock_guard guard(lock_);
    auto at = after ? large_.upper_bound(*after) : large_.begin();
    for (; at != large_.end() && all.size() < whole + limit; ++at) {
      all.push_back({at->first, at->second->length});
    }
  }
  std::ranges::sort(all, {}, &Listed::id);
  if (all.size() > limit) all.resize(limit);
  co_return all;
}

volume::Usage RamVolume::usage(std::string_view tenant) const { return tenants_.usage(tenant); }

volume::VolumeStats RamVolume::stats() const {
  drop_expired();
  volume::VolumeStats stats;
  stats.object_bytes = object_bytes_.load(std::memory_order_relaxed);
  stats.stored_bytes = store_.used_bytes();
  stats.free_bytes = store_.capacity() - std::min(store_.capacity(), stats.stored_bytes);
  const std::lock_guard guard(lock_);
  stats.objects = store_.objects() + large_.size();
  stats.uploads = uploads_.size();
  return stats;
}

volume::VolumeHealth RamVolume::health() const {
  if (!store_.full()) return {};
  return {.readable = true, .writable = false, .reason = "memory"};
}

}  // namespace ron::storage
