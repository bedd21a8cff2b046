// DiskVolume: objects in a directory of a local disk. See README.md for the format and its rules.
//
// The owner declares in its wires.h one channel (Mpsc, wait), one lock and the four tasks, opens
// the volume, supervises the tasks, and lets them end before the volume goes. Start the committer
// first and stop it last: the others wait for it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "platform/host.h"
#include "runtime/mpsc.h"
#include "runtime/shutdown.h"
#include "runtime/topology.h"
#include "runtime/within.h"
#include "volume/committer.h"
#include "volume/compactor.h"
#include "volume/options.h"
#include "volume/reader.h"
#include "volume/recovery.h"
#include "volume/scrubber.h"
#include "volume/snapshots.h"
#include "volume/state.h"
#include "volume/volume.h"

namespace ron::volume {

class DiskVolume final : public Volume, private Maintenance {
 public:
  // Called with an object that was found damaged and its first bad group, on the executor that
  // found it; must not wait.
  using OnCorrupt = std::function<void(const base::ObjectId&, std::uint64_t group)>;
  // Called with what went wrong with the medium in full, file names included, which clients are
  // not told; as often as it does. On the executor that found out; must not wait.
  using OnTrouble = std::function<void(std::string_view text)>;

  // `commit_decl` and `lock_decl` are the owner's declarations: the writer's queue, which waits
  // when full, and the lock of everything the volume's parts share.
  DiskVolume(platform::Host host, runtime::Topology& topology,
             const runtime::ChannelDecl& commit_decl, std::size_t commit_capacity,
             const runtime::LockDecl& lock_decl, Options options, OnCorrupt on_corrupt = {},
             OnTrouble on_trouble = {});

  // Opens or makes the directory and replays the tail of the log. When it returns the volume can
  // be used, though health() may say that the index is still to be made anew. Once. Cancel-safe in
  // that a volume whose open was aborted can only be destroyed.
  platform::Task<base::Result<void>> open();

  // The tasks, each to be supervised; any executor. They may be started again after a failure.
  platform::Task<void> committer(runtime::Shutdown shutdown);
  platform::Task<void> recoverer(runtime::Shutdown shutdown);
  platform::Task<void> compactor(runtime::Shutdown shutdown);
  platform::Task<void> scrubber(runtime::Shutdown shutdown);

  // On an executor.
  void apply(const Tuning& tuning);
  void request_compaction() override { compactor_.request(); }
  void request_scrub() override { scrubber_.request(); }
  [[nodiscard]] ScrubProgress scrub_progress() const override { return scrubber_.progress(); }
  platform::Task<base::Result<Snapshot>> make_snapshot(std::string name,
                                                       runtime::Deadline deadline) override {
    return runtime::within(deadline, snapshots_.make(std::move(name)));
  }
  platform::Task<base::Result<void>> remove_snapshot(std::string name,
                                                     runtime::Deadline deadline) override {
    return runtime::within(deadline, snapshots_.remove(std::move(name)));
  }
  platform::Task<base::Result<std::vector<Snapshot>>> list_snapshots(
      runtime::Deadline deadline) override {
    return runtime::within(deadline, snapshots_.list());
  }
  // Ends uploads that have expired; how many. The compactor does so every minute. Cancel-safe.
  platform::Task<base::Result<std::uint64_t>> expire(std::int64_t now_unix_s) {
    return compactor_.expire(now_unix_s, runtime::Shutdown());
  }

  // See Volume.
  platform::Task<base::Result<ObjectHandle>> locate(base::ObjectId id,
                                                    runtime::Deadline deadline) override;
  platform::Task<base::Result<Piece>> read(ObjectHandle object, std::uint64_t offset,
                                           std::uint64_t length,
                                           runtime::Deadline deadline) override;
  platform::Task<base::Result<bool>> holds(base::ObjectId id, std::string tenant,
                                           runtime::Deadline deadline) override;
  platform::Task<base::Result<Holders>> holders(base::ObjectId id, std::size_t most,
                                                runtime::Deadline deadline) override;
  platform::Task<void> put(NewObject object, runtime::Deadline deadline,
                           Reply<Added> reply) override;
  platform::Task<void> remove(Removal removal, runtime::Deadline deadline,
                              Reply<Removed> reply) override;
  platform::Task<void> begin_upload(Upload upload, runtime::Deadline deadline,
                                    Reply<bool> reply) override;
  platform::Task<void> put_part(NewPart part, runtime::Deadline deadline,
                                Reply<b3::ChainingValue> reply) override;
  platform::Task<void> commit_upload(UploadId upload, runtime::Deadline deadline,
                                     Reply<Added> reply) override;
  platform::Task<void> abort_upload(UploadId upload, runtime::Deadline deadline,
                                    Reply<bool> reply) override;
  platform::Task<base::Result<UploadState>> find_upload(UploadId upload,
                                                        runtime::Deadline deadline) override;
  platform::Task<base::Result<std::vector<Listed>>> list(std::optional<base::ObjectId> after,
                                                         std::size_t limit,
                                                         runtime::Deadline deadline) override;
  [[nodiscard]] Usage usage(std::string_view tenant) const override { return state_.usage(tenant); }
  [[nodiscard]] TenantUsage tenants(std::size_t most) const override {
    return state_.tenants(most);
  }
  [[nodiscard]] VolumeStats stats() const override { return state_.stats(); }
  [[nodiscard]] VolumeHealth health() const override { return state_.health(); }
  [[nodiscard]] Maintenance* maintenance() noexcept override { return this; }

 private:
  platform::Task<void> submit(Command command, runtime::Deadline deadline);

  VolumeState state_;
  runtime::Mpsc<Command> commands_;
  Recovery recovery_;
  Committer committer_;
  Reader reader_;
  Compactor compactor_;
  Scrubber scrubber_;
  Snapshots snapshots_;
};

}  // namespace ron::volume
