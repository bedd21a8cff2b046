#include "services/storage/core.h"

#include <chrono>
#include <utility>

#include "runtime/metric_names.h"
#include "services/storage/metric_names.h"
#include "services/storage/wires.h"

namespace ron::storage {
namespace {

std::int64_t seconds(base::Duration duration) {
  return std::chrono::duration_cast<std::chrono::seconds>(duration).count();
}

}  // namespace

Core::Core(runtime::Topology& topology, const StorageConfig& config, platform::Host host)
    : host_(host),
      cache_(config.amnesia ? 0 : config.cache_bytes.bytes),
      quotas_(config.quota),
      uploads_(config.uploads.max_open),
      events_(topology, kEvents, config.events_capacity),
      integrity_fails_(topology.meters().counter(metrics::kIntegrityFailTotal)),
      cache_hits_(topology.meters().counter(metrics::kCacheHitsTotal)),
      cache_misses_(topology.meters().counter(metrics::kCacheMissesTotal)),
      loads_joined_(topology.meters().counter(metrics::kLoadsJoinedTotal)),
      read_bytes_(topology.meters().counter(metrics::kReadBytesTotal)),
      stored_bytes_(topology.meters().counter(metrics::kStoredBytesTotal)),
      read_timeouts_(
          topology.meters().counter(runtime::metrics::kIoTimeoutsTotal, {"volume_read"})),
      chunk_bytes_(config.chunk_size.bytes),
      piece_timeout_ns_(config.server.read_timeout.count()),
      expire_after_s_(seconds(config.uploads.expire_after)),
      work_delay_ns_(config.debug_work_delay.count()),
      work_(topology, kWork, config.work_capacity, kWorkLanes) {
  host_.send_arena.set_limit(config.cache_bytes.bytes);
}

void Core::adopt(Volumes volumes) {
  memory_ = volumes.memory;
  disks_ = std::move(volumes.disks);
  volumes_.adopt(std::move(volumes.all));
}

void Core::apply(const StorageConfig& config) {
  constexpr auto kRelaxed = std::memory_order_relaxed;
  if (memory_ != nullptr) {
    memory_->set_capacity(config.cache_bytes.bytes);
  } else {
    cache_.set_capacity(config.cache_bytes.bytes);
  }
  for (volume::DiskVolume* const disk : disks_) disk->apply(tuning_of(config));
  host_.send_arena.set_limit(config.cache_bytes.bytes);
  quotas_.apply(config.quota);
  uploads_.set_max_open(config.uploads.max_open);
  chunk_bytes_.store(config.chunk_size.bytes, kRelaxed);
  piece_timeout_ns_.store(config.server.read_timeout.count(), kRelaxed);
  expire_after_s_.store(seconds(config.uploads.expire_after), kRelaxed);
  work_delay_ns_.store(config.debug_work_delay.count(), kRelaxed);
}

void Core::note_corrupt(const base::ObjectId& id, std::uint64_t group) {
  events_.send({StorageEvent::Kind::Corrupt, id, group});
}

std::uint64_t Core::memory_bytes() const noexcept {
  return memory_ != nullptr ? memory_->store().used_bytes() : cache_.used_bytes();
}

std::uint64_t Core::memory_limit() const noexcept {
  return memory_ != nullptr ? memory_->store().capacity() : cache_.capacity();
}

platform::Task<void> Core::get_worker(runtime::Shutdown shutdown) {
  return work_on(kGetLane, std::move(shutdown));
}
platform::Task<void> Core::put_worker(runtime::Shutdown shutdown) {
  return work_on(kPutLane, std::move(shutdown));
}

platform::Task<void> Core::work_on(std::size_t lane, runtime::Shutdown shutdown) {
  return work_.work(std::move(shutdown), lane, [this](auto job) {
    const base::Duration delay(work_delay_ns_.load(std::memory_order_relaxed));
    return delay > base::Duration::zero() ? run_late(std::move(job), delay) : run(std::move(job));
  });
}

void Core::tell(const observe::Log& log, const StorageEvent& event) {
  using Kind = StorageEvent::Kind;
  if (event.kind != Kind::Corrupt && !log.enabled(observe::Level::kDebug)) return;
  const std::string address = event.id.text();
  if (event.kind == Kind::Corrupt) {
    log.error("stored bytes do not match their address",
              {{"address", address}, {"group", event.length}});
    return;
  }
  const std::string_view what = event.kind == Kind::Stored     ? "object stored"
                                : event.kind == Kind::Released ? "hold on object removed"
                                                               : "object removed";
  const Origin& origin = event.origin;
  const observe::Value token =
      origin.token.empty() ? observe::Value("") : observe::Value(observe::Redacted(origin.token));
  log.with(origin.corr_id)
      .debug(what, {{"address", address},
                    {"bytes", event.length},
                    {"tenant", origin.tenant},
                    {"token", token}});
}

}  // namespace ron::storage
