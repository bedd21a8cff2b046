#include "services/storage/ram_volume.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <optional>
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

// What all parts of the upload cost.
std::uint64_t parts_cost(const volume::Upload& upload) {
  return upload.length + upload.parts() * kPartOverheadBytes;
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
    names_.emplace_back(found->first);
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

std::optional<OwnerNumber> TenantTable::number(std::string_view tenant) const {
  const std::lock_guard guard(lock_);
  const auto found = numbers_.find(tenant);
  return found == numbers_.end() ? std::nullopt : std::optional(found->second);
}

volume::Holders TenantTable::names(const std::vector<OwnerNumber>& owners, std::size_t most) const {
  std::vector<std::string_view> all;
  all.reserve(owners.size());
  {
    const std::lock_guard guard(lock_);
    for (const OwnerNumber owner : owners) all.push_back(names_[owner]);
  }
  // Names are never forgotten, so the views hold without the lock.
  const std::size_t count = std::min(most, all.size());
  std::ranges::partial_sort(all, all.begin() + static_cast<std::ptrdiff_t>(count));
  volume::Holders found;
  for (std::size_t i = 0; i < count; ++i) found.tenants.emplace_back(all[i]);
  found.more = all.size() > most;
  return found;
}

volume::TenantUsage TenantTable::largest(std::size_t most) const {
  volume::TenantUsage found;
  std::optional<std::string> last;
  for (;;) {
    const std::lock_guard guard(lock_);
    auto at = last ? numbers_.upper_bound(*last) : numbers_.begin();
    for (std::size_t i = 0; i < kAtOnce && at != numbers_.end(); ++i, ++at) {
      const volume::Usage& usage = usage_[at->second];
      if (usage.objects != 0) found.add(at->first, usage, most);
    }
    if (at == numbers_.end()) return found;
    last = std::prev(at)->first;
  }
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
  std::vector<base::Buffer> parts;

  [[nodiscard]] std::uint64_t cost() const noexcept {
    return length + parts.size() * kPartOverheadBytes;
  }
};

// What a Located of this volume keeps alive: one of the two.
struct RamVolume::HandleState {
  ObjectPtr whole;
  LargePtr large;
};

RamVolume::RamVolume(std::uint64_t capacity_bytes, platform::SendArena& arena,
                     const platform::Clock& clock)
    : arena_(arena),
      clock_(clock),
      store_(capacity_bytes),
      uploads_(kUploadsLock),
      lock_(kUploadsLock) {}

RamVolume::~RamVolume() = default;

RamVolume::LargePtr RamVolume::find_large(const base::ObjectId& id) const {
  const std::lock_guard guard(lock_);
  const auto found = large_.find(id);
  return found == large_.end() ? nullptr : found->second.object;
}

Result<Adding> RamVolume::add_holder(KeptLarge& kept, OwnerNumber owner) {
  if (kept.holders.has(owner)) return Adding::Existing;
  const Result<void> room = store_.reserve(HolderSet::kHolderBytes);
  if (!room) return fail(room.error());
  kept.holders.add(owner);
  return Adding::Held;
}

Result<std::optional<Adding>> RamVolume::hold_large(const base::ObjectId& id, OwnerNumber owner) {
  const std::lock_guard guard(lock_);
  const auto found = large_.find(id);
  if (found == large_.end()) return std::nullopt;
  return add_holder(found->second, owner);
}

std::optional<Taken> RamVolume::remove_large(const base::ObjectId& id,
                                             std::optional<OwnerNumber> owner) {
  const std::lock_guard guard(lock_);
  const auto found = large_.find(id);
  if (found == large_.end()) return std::nullopt;
  KeptLarge& kept = found->second;
  const std::uint64_t extra_bytes = kept.holders.extra_bytes();
  Taken taken{kept.object, kept.object->length, kept.holders.take(owner)};
  if (taken.holders.empty()) return std::nullopt;
  if (extra_bytes > 0) store_.release(extra_bytes - kept.holders.extra_bytes());
  taken.gone = kept.holders.empty();
  if (taken.gone) large_.erase(found);
  return taken;
}

std::vector<OwnerNumber> RamVolume::all_holders(const base::ObjectId& id) const {
  std::vector<OwnerNumber> all = store_.holders(id);
  const std::lock_guard guard(lock_);
  const auto found = large_.find(id);
  if (found == large_.end()) return all;
  const std::vector<OwnerNumber> more = found->second.holders.all();
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

Result<bool> RamVolume::add_hold(const base::ObjectId& id, std::string_view tenant,
                                 std::uint64_t length) {
  const OwnerNumber owner = tenants_.charge(tenant, length);
  Result<std::optional<Adding>> held = store_.hold(id, owner);
  if (held && !*held) held = hold_large(id, owner);
  if (!held || *held != Adding::Held) tenants_.refund(owner, length);
  if (!held) return fail(held.error());
  return held->has_value();
}

Task<Result<bool>> RamVolume::holds(base::ObjectId id, std::string tenant, runtime::Deadline) {
  const auto number = tenants_.number(tenant);
  const std::vector<OwnerNumber> all = all_holders(id);
  co_return number&& std::ranges::find(all, *number) != all.end();
}

Task<Result<volume::Holders>> RamVolume::holders(base::ObjectId id, std::size_t most,
                                                 runtime::Deadline) {
  const std::vector<OwnerNumber> all = all_holders(id);
  if (all.empty()) co_return fail(Code::NotFound, "no object is stored under this address");
  co_return tenants_.names(all, most);
}

Task<Result<volume::ObjectHandle>> RamVolume::locate(base::ObjectId id, runtime::Deadline) {
  HandleState state{store_.find(id), nullptr};
  if (!state.whole) state.large = find_large(id);
  if (!state.whole && !state.large) {
    co_return fail(Code::NotFound, "no object is stored under this address");
  }
  const std::uint64_t length = state.whole ? state.whole->bytes().size() : state.large->length;
  co_return volume::ObjectHandle{id, length, std::make_shared<const HandleState>(std::move(state))};
}

Task<Result<volume::Piece>> RamVolume::read(volume::ObjectHandle object, std::uint64_t offset,
                                            std::uint64_t length, runtime::Deadline) {
  const auto* state = static_cast<const HandleState*>(object.state.get());
  const base::ByteView part =
      state->whole ? state->whole->bytes() : state->large->parts[offset / kPartBytes].view();
  const std::uint64_t from = state->whole ? offset : offset % kPartBytes;
  volume::Piece piece;
  piece.bytes = part.subspan(from, std::min<std::uint64_t>(length, part.size() - from));
  piece.owner = std::move(object.state);
  co_return piece;
}

Result<volume::Added> RamVolume::store(volume::NewObject object) {
  const std::uint64_t length = object.bytes.size();
  const OwnerNumber owner = tenants_.charge(object.tenant, length);
  Result<std::optional<Adding>> added = hold_large(object.id, owner);
  if (added && !*added) {
    auto whole = std::make_shared<const Object>(object.id, std::move(object.bytes), arena_);
    added = store_.add(whole, owner);
    if (!added) {
      drop_expired();
      added = store_.add(std::move(whole), owner);
    }
  }
  const bool is_new = added && *added == Adding::New;
  if (is_new) object_bytes_.fetch_add(length, std::memory_order_relaxed);
  if (!added || *added == Adding::Existing) tenants_.refund(owner, length);
  if (!added) return fail(added.error());
  return volume::Added{object.id, length, is_new};
}

Task<void> RamVolume::put(volume::NewObject object, runtime::Deadline,
                          volume::Reply<volume::Added> reply) {
  std::move(reply).send(store(std::move(object)));
  co_return;
}

Result<volume::Removed> RamVolume::take(const volume::Removal& removal) {
  std::optional<OwnerNumber> owner;
  if (removal.tenant) owner = tenants_.number(*removal.tenant);
  const bool unknown = removal.tenant && !owner;
  volume::Removed removed;
  bool any = false;
  // It is one of the two, or both if it came both ways at once.
  for (const bool large : {false, true}) {
    if (unknown) break;
    const std::optional<Taken> taken =
        large ? remove_large(removal.id, owner) : store_.remove(removal.id, owner);
    if (!taken) continue;
    any = true;
    removed.length = taken->length;
    for (const OwnerNumber holder : taken->holders) tenants_.refund(holder, taken->length);
    if (taken->gone) object_bytes_.fetch_sub(taken->length, std::memory_order_relaxed);
  }
  if (!any) return fail(Code::NotFound, "no object is stored under this address");
  removed.gone = !store_.find(removal.id) && !find_large(removal.id);
  return removed;
}

// Who is told may want the room at once: what was taken is free by then.
Task<void> RamVolume::remove(volume::Removal removal, runtime::Deadline,
                             volume::Reply<volume::Removed> reply) {
  std::move(reply).send(take(removal));
  co_return;
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
  const bool is_new = uploads_.begin(std::move(upload));
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
  auto kept = uploads_.keep(part.upload, part.part, std::move(part.bytes), value, now_s());
  if (!kept || kept->replaced) store_.release(cost);  // a part's length never changes
  if (!kept) return fail(std::move(kept.error()));
  return kept->value;
}

Task<void> RamVolume::put_part(volume::NewPart part, runtime::Deadline,
                               volume::Reply<b3::ChainingValue> reply) {
  std::move(reply).send(keep_part(std::move(part)));
  co_return;
}

// The object is there already: nobody needs them.
void RamVolume::drop_parts(Uploads::Claimed claimed) const noexcept {
  claimed.bytes.clear();
  store_.release(parts_cost(claimed.upload));
}

Result<volume::Added> RamVolume::publish_small(Uploads::Claimed claimed, const base::ObjectId& id) {
  const std::uint64_t length = claimed.upload.length;
  base::Buffer bytes;
  if (length > 0) bytes = std::move(claimed.bytes[0]);
  const OwnerNumber owner = tenants_.charge(claimed.upload.tenant, length);
  const auto whole = std::make_shared<const Object>(id, std::move(bytes), arena_);
  const Result<Adding> added = store_.add(whole, owner, parts_cost(claimed.upload));
  const bool is_new = added && *added == Adding::New;
  if (is_new) {
    object_bytes_.fetch_add(length, std::memory_order_relaxed);
  }
  if (!added || *added == Adding::Existing) tenants_.refund(owner, length);
  if (!added) {
    if (length > 0) claimed.bytes[0] = copy_of(whole->bytes());
    return fail(added.error());
  }
  if (!is_new) drop_parts(claimed);
  return volume::Added{id, length, is_new};
}

Result<volume::Added> RamVolume::publish(Uploads::Claimed claimed, const base::ObjectId& id) {
  const std::uint64_t length = claimed.upload.length;
  const Result<bool> there = add_hold(id, claimed.upload.tenant, length);
  if (!there) return fail(there.error());
  if (*there) {
    drop_parts(claimed);
    return volume::Added{id, length, false};
  }
  if (length <= kPartBytes) return publish_small(claimed, id);
  const OwnerNumber owner = tenants_.charge(claimed.upload.tenant, length);
  const std::lock_guard guard(lock_);
  const auto kept = large_.find(id);
  if (kept != large_.end()) {  // somebody was faster
    const Result<Adding> added = add_holder(kept->second, owner);
    if (!added || *added == Adding::Existing) tenants_.refund(owner, length);
    if (!added) return fail(added.error());
    drop_parts(claimed);
    return volume::Added{id, length, false};
  }
  // From here on the room of the parts is the object's.
  auto large = std::make_shared<LargeObject>(store_.room());
  large->length = length;
  large->parts = std::move(claimed.bytes);
  large_.try_emplace(id, std::move(large), HolderSet(owner));
  object_bytes_.fetch_add(length, std::memory_order_relaxed);
  return volume::Added{id, length, true};
}

Result<volume::Added> RamVolume::make_object(Uploads::Claimed claimed) {
  const volume::Upload& upload = claimed.upload;
  Result<base::ObjectId> address = base::ObjectId();
  if (upload.length <= kPartBytes) {
    address = b3::hash(claimed.bytes.empty() ? base::ByteView() : claimed.bytes[0].view());
  } else {
    std::vector<b3::ChainingValue> values;
    for (const auto& [number, part] : claimed.parts) values.push_back(part.value);
    address = b3::root_of(upload.length, kPartBytes, values);
  }
  if (!address) return fail(Code::Internal, "the parts have no address");
  if (upload.expected && *upload.expected != *address) {
    return fail(base::Error(Code::HashMismatch, "the parts have another address")
                    .with("expected", upload.expected->text())
                    .with("actual", address->text()));
  }
  const Result<volume::Added> added = publish(claimed, *address);
  if (added) store_.release(kPartOverheadBytes);  // of the upload
  return added;
}

Task<void> RamVolume::commit_upload(volume::UploadId upload, runtime::Deadline,
                                    volume::Reply<volume::Added> reply) {
  const auto before = uploads_.committed(upload, now_s());
  if (before && !is_stored(before->id)) {
    std::move(reply).send(fail(Code::NotFound, "what the upload was committed as was removed"));
    co_return;
  }
  uploads_.commit(upload, now_s(), std::move(reply),
                  [this](Uploads::Claimed claimed) { return make_object(claimed); });
}

void RamVolume::release(const Uploads::Open& upload) const noexcept {
  std::uint64_t cost = kPartOverheadBytes;
  for (const auto& [number, part] : upload.parts) cost += part_cost(part.bytes.size());
  store_.release(cost);
}

void RamVolume::drop_expired() const {
  for (const auto& expired : uploads_.take_expired(now_s())) release(*expired);
}

Task<void> RamVolume::abort_upload(volume::UploadId upload, runtime::Deadline,
                                   volume::Reply<bool> reply) {
  auto aborted = uploads_.abort(upload);
  if (!aborted) {
    std::move(reply).send(fail(std::move(aborted.error())));
    co_return;
  }
  // Who is told may want the room at once.
  release(**aborted);
  aborted->reset();
  std::move(reply).send(true);
}

Task<Result<volume::UploadState>> RamVolume::find_upload(volume::UploadId upload,
                                                         runtime::Deadline) {
  co_return uploads_.find(upload, now_s());
}

Task<Result<std::vector<RamVolume::Listed>>> RamVolume::list(std::optional<base::ObjectId> after,
                                                             std::size_t limit, runtime::Deadline) {
  std::vector<Listed> all;
  for (const ObjectPtr& object : store_.list(after, limit)) {
    all.push_back({object->id, object->bytes().size()});
  }
  const std::size_t whole = all.size();
  {
    const std::lock_guard guard(lock_);
    auto at = after ? large_.upper_bound(*after) : large_.begin();
    for (; at != large_.end() && all.size() < whole + limit; ++at) {
      all.push_back({at->first, at->second.object->length});
    }
  }
  std::ranges::sort(all, {}, &Listed::id);
  if (all.size() > limit) all.resize(limit);
  co_return all;
}

volume::Usage RamVolume::usage(std::string_view tenant) const { return tenants_.usage(tenant); }

volume::TenantUsage RamVolume::tenants(std::size_t most) const { return tenants_.largest(most); }

volume::VolumeStats RamVolume::stats() const {
  drop_expired();
  volume::VolumeStats stats;
  stats.object_bytes = object_bytes_.load(std::memory_order_relaxed);
  stats.stored_bytes = store_.used_bytes();
  stats.free_bytes = store_.capacity() - std::min(store_.capacity(), stats.stored_bytes);
  stats.uploads = uploads_.count_open();
  const std::lock_guard guard(lock_);
  stats.objects = store_.objects() + large_.size();
  return stats;
}

volume::VolumeHealth RamVolume::health() const {
  if (!store_.full()) return {};
  return {.readable = true, .writable = false, .reason = "memory"};
}

}  // namespace ron::storage
