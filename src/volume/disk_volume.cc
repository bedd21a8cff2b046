#include "volume/disk_volume.h"

#include <utility>

namespace ron::volume {

using base::Code;
using base::Result;
using platform::Task;
using namespace std::chrono_literals;

namespace {

constexpr base::Duration kRecoveryLookEvery = 500ms;
constexpr base::Duration kRecoveryRetryEvery = 5s;
constexpr std::uint64_t kGroupsPerPart = kPartBytes / b3::kGroupBytes;

}  // namespace

DiskVolume::DiskVolume(platform::Host host, runtime::Topology& topology,
                       const runtime::ChannelDecl& commit_decl, std::size_t commit_capacity,
                       const runtime::LockDecl& lock_decl, Options options, OnCorrupt on_corrupt,
                       OnTrouble on_trouble)
    : state_(host, std::move(options), lock_decl),
      commands_(topology, commit_decl, commit_capacity),
      recovery_(&state_),
      committer_(&state_, &commands_),
      reader_(&state_, &commands_, lock_decl),
      compactor_(&state_, &commands_, &reader_),
      scrubber_(&state_, &reader_, topology.meters()),
      snapshots_(&state_, &commands_) {
  state_.on_corrupt = std::move(on_corrupt);
  state_.on_trouble = std::move(on_trouble);
}

void DiskVolume::apply(const Tuning& tuning) {
  state_.set_tuning(tuning);
  scrubber_.set_rate(platform::Executor::current()->now(), tuning.scrub_rate);
}

Task<Result<void>> DiskVolume::open() {
  auto opened = co_await recovery_.open();
  if (!opened) co_return opened;
  committer_.start_at(recovery_.log_end(), recovery_.next_segment(), false);
  // Before the first write: uploads are admitted, and volumes chosen, by the room there is.
  const auto free = co_await state_.host().disk.free_bytes(state_.options().directory);
  if (!free) co_return base::fail(free.error());
  state_.free_bytes.store(*free, std::memory_order_relaxed);
  co_return opened;
}

Task<void> DiskVolume::committer(runtime::Shutdown shutdown) {
  return committer_.run(std::move(shutdown));
}
Task<void> DiskVolume::compactor(runtime::Shutdown shutdown) {
  return compactor_.run(std::move(shutdown));
}
Task<void> DiskVolume::scrubber(runtime::Shutdown shutdown) {
  return scrubber_.run(std::move(shutdown));
}

// Makes the index anew whenever it is found to be damaged. The writer refuses everything while that
// is so; once it has answered the pause, nothing is being written.
Task<void> DiskVolume::recoverer(runtime::Shutdown shutdown) {
  base::Duration pause{};
  for (;;) {
    const runtime::Waited waited =
        co_await runtime::wait_stop(shutdown, runtime::Deadline::in(pause));
    if (waited == runtime::Waited::Ready) co_return;
    pause = kRecoveryLookEvery;
    if (!state_.index_damaged()) continue;
    auto paused = co_await ask<bool>(&commands_, shutdown, [](Reply<bool> reply) {
      return Command(PauseCommand{std::move(reply)});
    });
    if (!paused) continue;
    auto rebuilt = co_await recovery_.rebuild();
    if (rebuilt) {
      committer_.start_at(recovery_.log_end(), recovery_.next_segment(), true);
      state_.clear_damaged_index();
      state_.set_write_trouble("");
      state_.set_readable(true);
    } else {
      state_.report_trouble(rebuilt.error());
      pause = kRecoveryRetryEvery;
    }
  }
}

Task<Result<ObjectHandle>> DiskVolume::locate(base::ObjectId id, runtime::Deadline deadline) {
  return runtime::within(deadline, reader_.locate(id));
}
Task<Result<Piece>> DiskVolume::read(ObjectHandle object, std::uint64_t offset,
                                     std::uint64_t length, runtime::Deadline deadline) {
  return runtime::within(deadline, reader_.read(std::move(object), offset, length));
}
Task<Result<bool>> DiskVolume::holds(base::ObjectId id, std::string tenant,
                                     runtime::Deadline deadline) {
  return runtime::within(deadline, reader_.holds(id, std::move(tenant)));
}
Task<Result<Holders>> DiskVolume::holders(base::ObjectId id, std::size_t most,
                                          runtime::Deadline deadline) {
  return runtime::within(deadline, reader_.holders(id, most));
}
Task<Result<UploadState>> DiskVolume::find_upload(UploadId upload, runtime::Deadline deadline) {
  return runtime::within(deadline, reader_.find_upload(upload));
}
Task<Result<std::vector<Volume::Listed>>> DiskVolume::list(std::optional<base::ObjectId> after,
                                                           std::size_t limit,
                                                           runtime::Deadline deadline) {
  return runtime::within(deadline, reader_.list(after, limit));
}

Task<void> DiskVolume::submit(Command command, runtime::Deadline deadline) {
  if (state_.recovering()) {
    refuse(std::move(command), {Code::Degraded, "the volume's index is being rebuilt"});
    co_return;
  }
  auto sent = co_await commands_.send(std::move(command), deadline);
  if (sent) co_return;
  const bool full = sent.error().kind == runtime::SendError<Command>::Kind::Full;
  refuse(std::move(sent.error().value),
         full ? base::Error(Code::StorageBusy, "the volume's queue of writes is full")
              : base::Error(Code::Draining, "the volume is closed"));
}

Task<void> DiskVolume::put(NewObject object, runtime::Deadline deadline, Reply<Added> reply) {
  if (object.bytes.size() > kMaxPayloadBytes || object.tenant.size() > kTenantBytes) {
    std::move(reply).send(base::fail(Code::Malformed, "too large for one record"));
    co_return;
  }
  const std::size_t groups = groups_stored(RecordKind::Object, object.bytes.size());
  if (object.groups.size() != groups) {
    object.groups.resize(groups);
    if (groups != 0) b3::group_values(object.bytes.view(), 0, object.groups);
  }
  co_await submit(PutCommand{std::move(object), std::move(reply)}, deadline);
}

Task<void> DiskVolume::remove(Removal removal, runtime::Deadline deadline, Reply<Removed> reply) {
  return submit(RemoveCommand{std::move(removal), std::move(reply)}, deadline);
}

Task<void> DiskVolume::begin_upload(Upload upload, runtime::Deadline deadline, Reply<bool> reply) {
  if (upload.tenant.size() > kTenantBytes) {
    std::move(reply).send(base::fail(Code::Malformed, "the tenant's name is too long"));
    co_return;
  }
  co_await submit(BeginCommand{std::move(upload), std::move(reply)}, deadline);
}

Task<void> DiskVolume::put_part(NewPart part, runtime::Deadline deadline,
                                Reply<b3::ChainingValue> reply) {
  const bool numbered = part.part < b3::kMaxGroups / kGroupsPerPart;
  if (part.bytes.size() == 0 || part.bytes.size() > kPartBytes || !numbered) {
    std::move(reply).send(base::fail(Code::Malformed, "no part has this number and length"));
    co_return;
  }
  // Hashed here, on the caller's core, so that the writer does not have to.
  std::vector<b3::ChainingValue> groups(
      static_cast<std::size_t>(b3::group_count(part.bytes.size())));
  b3::group_values(part.bytes.view(), part.part * kGroupsPerPart, groups);
  co_await submit(PartCommand{std::move(part), std::move(groups), std::move(reply)}, deadline);
}

Task<void> DiskVolume::commit_upload(UploadId upload, runtime::Deadline deadline,
                                     Reply<Added> reply) {
  return submit(CommitCommand{upload, std::move(reply)}, deadline);
}

Task<void> DiskVolume::abort_upload(UploadId upload, runtime::Deadline deadline,
                                    Reply<bool> reply) {
  return submit(AbortCommand{upload, std::move(reply)}, deadline);
}

}  // namespace ron::volume
