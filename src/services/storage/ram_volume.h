// RamVolume: the volume of amnesia mode. Objects and uploads in memory, not a byte on disk.
//
// Whole objects are in a RamStore; an object that was uploaded in several parts stays in those
// parts. All of it, open uploads included, counts against one capacity. Durable here means: until
// the process ends.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "platform/clock.h"
#include "platform/send_memory.h"
#include "runtime/lock.h"
#include "services/storage/ram_store.h"
#include "services/storage/ram_uploads.h"
#include "volume/volume.h"

namespace ron::storage {

// Bytes and objects by tenant. Any thread. As many tenants as tokens name; they are never
// forgotten.
class TenantTable {
 public:
  TenantTable();

  // Counts the object and gives the tenant's number.
  OwnerNumber charge(std::string_view tenant, std::uint64_t bytes);
  void refund(OwnerNumber owner, std::uint64_t bytes);
  // Nothing when it has never stored anything.
  [[nodiscard]] std::optional<OwnerNumber> number(std::string_view tenant) const;
  // Of these, the `most` that come first.
  [[nodiscard]] volume::Holders names(const std::vector<OwnerNumber>& owners,
                                      std::size_t most) const;
  [[nodiscard]] volume::Usage usage(std::string_view tenant) const;
  [[nodiscard]] volume::TenantUsage largest(std::size_t most) const;

 private:
  // Looked at under one lock; tenants may be many.
  static constexpr std::size_t kAtOnce = 1024;

  mutable runtime::Lock lock_;
  std::map<std::string, OwnerNumber, std::less<>> numbers_;  // guarded by lock_, as the rest
  std::vector<std::string_view> names_;                      // by number; they live in numbers_
  std::vector<volume::Usage> usage_;
};

// Any executor. Nothing here waits; the tasks are ready when they return.
class RamVolume final : public volume::Volume {
 public:
  RamVolume(std::uint64_t capacity_bytes, platform::SendArena& arena, const platform::Clock& clock);
  ~RamVolume() override;

  platform::Task<base::Result<volume::ObjectHandle>> locate(base::ObjectId id,
                                                            runtime::Deadline deadline) override;
  platform::Task<base::Result<volume::Piece>> read(volume::ObjectHandle object,
                                                   std::uint64_t offset, std::uint64_t length,
                                                   runtime::Deadline deadline) override;
  platform::Task<base::Result<bool>> holds(base::ObjectId id, std::string tenant,
                                           runtime::Deadline deadline) override;
  platform::Task<base::Result<volume::Holders>> holders(base::ObjectId id, std::size_t most,
                                                        runtime::Deadline deadline) override;
  platform::Task<void> put(volume::NewObject object, runtime::Deadline deadline,
                           volume::Reply<volume::Added> reply) override;
  platform::Task<void> remove(volume::Removal removal, runtime::Deadline deadline,
                              volume::Reply<volume::Removed> reply) override;
  platform::Task<void> begin_upload(volume::Upload upload, runtime::Deadline deadline,
                                    volume::Reply<bool> reply) override;
  platform::Task<void> put_part(volume::NewPart part, runtime::Deadline deadline,
                                volume::Reply<b3::ChainingValue> reply) override;
  platform::Task<void> commit_upload(volume::UploadId upload, runtime::Deadline deadline,
                                     volume::Reply<volume::Added> reply) override;
  platform::Task<void> abort_upload(volume::UploadId upload, runtime::Deadline deadline,
                                    volume::Reply<bool> reply) override;
  platform::Task<base::Result<volume::UploadState>> find_upload(
      volume::UploadId upload, runtime::Deadline deadline) override;
  platform::Task<base::Result<std::vector<Listed>>> list(std::optional<base::ObjectId> after,
                                                         std::size_t limit,
                                                         runtime::Deadline deadline) override;

  [[nodiscard]] volume::Usage usage(std::string_view tenant) const override;
  [[nodiscard]] volume::TenantUsage tenants(std::size_t most) const override;
  [[nodiscard]] volume::VolumeStats stats() const override;
  [[nodiscard]] volume::VolumeHealth health() const override;

  // Whole objects, for whoever serves them without a detour.
  [[nodiscard]] const RamStore& store() const noexcept { return store_; }
  void set_capacity(std::uint64_t bytes) noexcept { store_.set_capacity(bytes); }

 private:
  struct LockedSync {
    using Mutex = runtime::Lock;
  };
  using Uploads = RamUploads<LockedSync, base::Buffer, volume::Reply<volume::Added>>;
  struct LargeObject;
  struct HandleState;
  using LargePtr = std::shared_ptr<const LargeObject>;
  struct KeptLarge {
    LargePtr object;
    HolderSet holders;
  };

  [[nodiscard]] LargePtr find_large(const base::ObjectId& id) const;
  [[nodiscard]] bool is_stored(const base::ObjectId& id) const {
    return store_.find(id) || find_large(id);
  }
  // These three as RamStore's.
  base::Result<std::optional<Adding>> hold_large(const base::ObjectId& id, OwnerNumber owner);
  std::optional<Taken> remove_large(const base::ObjectId& id, std::optional<OwnerNumber> owner);
  base::Result<Adding> add_holder(KeptLarge& kept, OwnerNumber owner);  // under the lock
  [[nodiscard]] std::vector<OwnerNumber> all_holders(const base::ObjectId& id) const;
  base::Result<volume::Removed> take(const volume::Removal& removal);
  // True if the object is there; the tenant holds it then.
  base::Result<bool> add_hold(const base::ObjectId& id, std::string_view tenant,
                              std::uint64_t length);
  base::Result<volume::Added> store(volume::NewObject object);
  base::Result<bool> begin(volume::Upload upload);
  base::Result<b3::ChainingValue> keep_part(volume::NewPart part);
  base::Result<volume::Added> make_object(Uploads::Claimed claimed);
  base::Result<volume::Added> publish(Uploads::Claimed claimed, const base::ObjectId& id);
  base::Result<volume::Added> publish_small(Uploads::Claimed claimed, const base::ObjectId& id);
  void drop_parts(Uploads::Claimed claimed) const noexcept;
  void drop_expired() const;
  void release(const Uploads::Open& upload) const noexcept;
  [[nodiscard]] std::int64_t now_s() const noexcept { return clock_.unix_ms() / 1000; }

  platform::SendArena& arena_;
  const platform::Clock& clock_;
  mutable RamStore store_;
  TenantTable tenants_;
  std::atomic<std::uint64_t> object_bytes_ = 0;
  mutable Uploads uploads_;
  mutable runtime::Lock lock_;
  std::map<base::ObjectId, KeptLarge> large_;  // guarded by lock_
};

}  // namespace ron::storage
