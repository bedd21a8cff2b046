// Core: what svc-storage does, without HTTP.
//
// Reads of what is in memory are answered at once; everything else goes through the bounded `work`
// queue, reads to the get workers and changes to the put workers. A put worker hands a change over
// to the volume together with the client's reply and goes on: it never waits for the medium.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "observe/log.h"
#include "platform/host.h"
#include "runtime/broadcast.h"
#include "runtime/shutdown.h"
#include "services/kit/single_flight.h"
#include "services/storage/cache.h"
#include "services/storage/config.h"
#include "services/storage/object_store.h"
#include "services/storage/quota.h"
#include "services/storage/upload_table.h"
#include "services/storage/volume_set.h"
#include "services/storage/volumes.h"
#include "services/storage/wires.h"

namespace ron::storage {

// Something happened to an object; listeners get it through events(1024).
struct StorageEvent {
  enum class Kind : std::uint8_t {
    Stored,
    Released,  // a tenant's hold is gone; others hold it
    Removed,
    Corrupt,
  };
  Kind kind;
  base::ObjectId id;
  std::uint64_t length;  // Corrupt: the first bad group instead
  Origin origin{};       // Corrupt: nobody
};

// Objects on their way from a volume into memory, each read once for all who wait for it.
using Loads = kit::SingleFlight<base::ObjectId, ObjectPtr, base::ObjectIdHash>;

class Core final : public ObjectStore {
 public:
  Core(runtime::Topology& topology, const StorageConfig& config, platform::Host host);

  // Before anything else is asked.
  void adopt(Volumes volumes);

  ObjectPtr cached(const base::ObjectId& id) const override;
  platform::Task<base::Result<LocatedObject>> locate(base::ObjectId id,
                                                     runtime::Deadline deadline) override;
  [[nodiscard]] bool loads_whole(std::uint64_t length) const override;
  platform::Task<base::Result<ObjectPtr>> load(LocatedObject found,
                                               runtime::Deadline deadline) override;
  platform::Task<base::Result<volume::Piece>> read(LocatedObject found, ReadRequest asked) override;
  [[nodiscard]] std::uint64_t chunk_bytes() const override;
  [[nodiscard]] base::Duration piece_timeout() const override;

  platform::Task<base::Result<Stored>> put(NewBytes asked, runtime::Deadline deadline) override;
  base::Result<void> check_room() override { return work_.check_room(); }
  platform::Task<base::Result<void>> remove(volume::Removal removal, Call call) override;

  platform::Task<base::Result<volume::Upload>> begin_upload(NewUpload asked,
                                                            runtime::Deadline deadline) override;
  platform::Task<base::Result<OpenUpload>> open_upload(volume::UploadId id, std::string tenant,
                                                       runtime::Deadline deadline) override;
  platform::Task<base::Result<volume::UploadState>> upload_state(
      volume::UploadId id, std::string tenant, runtime::Deadline deadline) override;
  platform::Task<base::Result<b3::ChainingValue>> put_part(OpenUpload open, std::uint64_t part,
                                                           base::Buffer bytes,
                                                           runtime::Deadline deadline) override;
  platform::Task<base::Result<Stored>> commit_upload(volume::UploadId id, std::string tenant,
                                                     Call call) override;
  platform::Task<base::Result<void>> abort_upload(volume::UploadId id, std::string tenant,
                                                  runtime::Deadline deadline) override;

  // The bodies of the supervised tasks.
  platform::Task<void> get_worker(runtime::Shutdown shutdown);
  platform::Task<void> put_worker(runtime::Shutdown shutdown);

  // What happens to objects, and the words for it.
  [[nodiscard]] runtime::Broadcast<StorageEvent>& events() noexcept { return events_; }
  static void tell(const observe::Log& log, const StorageEvent& event);

  void apply(const StorageConfig& config);

  // For the volumes: changes that are in `work`.
  [[nodiscard]] const volume::ComingWrites& coming_writes() const noexcept {
    return coming_writes_;
  }
  // A volume found that stored bytes do not match their address: tells listeners.
  void note_corrupt(const base::ObjectId& id, std::uint64_t group);

  // For operators.
  [[nodiscard]] VolumeSet& volumes() noexcept { return volumes_; }
  [[nodiscard]] const VolumeSet& volumes() const noexcept { return volumes_; }
  [[nodiscard]] std::span<volume::DiskVolume* const> disks() const noexcept { return disks_; }
  [[nodiscard]] const ObjectCache& cache() const noexcept { return cache_; }
  [[nodiscard]] const kit::WorkQueue<Job>& work() const noexcept { return work_; }
  [[nodiscard]] const UploadTable& uploads() const noexcept { return uploads_; }
  [[nodiscard]] const Quotas& quotas() const noexcept { return quotas_; }
  [[nodiscard]] std::size_t cores() const noexcept { return host_.cores.size(); }
  // Memory taken by objects, and what they may take.
  [[nodiscard]] std::uint64_t memory_bytes() const noexcept;
  [[nodiscard]] std::uint64_t memory_limit() const noexcept;

 private:
  platform::Task<void> work_on(std::size_t lane, runtime::Shutdown shutdown);
  template <class J>
  platform::Task<void> run_late(J job, base::Duration delay) {
    co_await runtime::sleep_for(delay);
    co_await run(std::move(job));
  }
  platform::Task<void> run(ReadJob job);
  platform::Task<void> run(LoadJob job);
  platform::Task<void> run(PutJob job);
  platform::Task<void> run(RemoveJob job);
  platform::Task<void> run(BeginJob job);
  platform::Task<void> run(PartJob job);
  platform::Task<void> run(CommitJob job);
  platform::Task<void> run(AbortJob job);

  platform::Task<base::Result<ObjectPtr>> load_now(LocatedObject found);
  platform::Task<base::Result<volume::Piece>> read_now(LocatedObject found, std::uint64_t offset,
                                                       std::uint64_t length,
                                                       runtime::Deadline deadline);
  platform::Task<base::Result<Quotas::Reservation>> reserve(std::string tenant, std::uint64_t bytes,
                                                            std::optional<base::ObjectId> id,
                                                            runtime::Deadline deadline);
  platform::Task<base::Result<UploadOnVolume>> find_upload(volume::UploadId id, std::string tenant,
                                                           runtime::Deadline deadline);
  void announce_stored(const base::Result<volume::Added>& added, Origin origin);
  [[nodiscard]] std::int64_t now_s() const noexcept { return host_.clock.unix_ms() / 1000; }

  platform::Host host_;
  RamVolume* memory_ = nullptr;             // amnesia: the one of volumes_
  std::vector<volume::DiskVolume*> disks_;  // otherwise: all of volumes_
  // What a change needs when its reply comes stands before the volumes and the queue, which hold
  // replies.
  volume::ComingWrites coming_writes_;
  ObjectCache cache_;
  Quotas quotas_;
  UploadTable uploads_;
  Loads loads_{kLoadsLock};
  runtime::Broadcast<StorageEvent> events_;
  runtime::Counter& integrity_fails_;
  runtime::Counter& cache_hits_;
  runtime::Counter& cache_misses_;
  runtime::Counter& loads_joined_;
  runtime::Counter& read_bytes_;
  runtime::Counter& stored_bytes_;
  runtime::Counter& read_timeouts_;
  std::atomic<std::uint64_t> beginning_ = 0;  // uploads that are being begun
  std::atomic<std::uint64_t> chunk_bytes_;
  std::atomic<std::int64_t> piece_timeout_ns_;
  std::atomic<std::int64_t> expire_after_s_;
  std::atomic<std::int64_t> work_delay_ns_;
  VolumeSet volumes_;
  kit::WorkQueue<Job> work_;
};

}  // namespace ron::storage
