// Core: what svc-storage does, without HTTP. Puts go through the bounded work queue to the put
// workers; gets are served from memory at once.
#pragma once

#include <atomic>
#include <memory>
#include <optional>

#include "observe/log.h"
#include "runtime/broadcast.h"
#include "runtime/mpsc.h"
#include "runtime/oneshot.h"
#include "runtime/shutdown.h"
#include "services/storage/api.h"
#include "services/storage/config.h"
#include "services/storage/ram_store.h"

namespace ron::storage {

// Something happened to an object; listeners get it through events(1024).
struct StorageEvent {
  enum class Kind : std::uint8_t { Stored, Removed };
  Kind kind;
  base::ObjectId id;
  std::uint64_t length;
};

class Core final : public Api {
 public:
  Core(runtime::Topology& topology, const StorageConfig& config, platform::SendArena& arena);

  base::Result<ObjectPtr> get(const base::ObjectId& id) const override;
  platform::Task<base::Result<Stored>> put(base::Buffer bytes,
                                           std::optional<base::ObjectId> expected,
                                           runtime::Deadline deadline) override;
  base::Result<void> check_room() override;
  base::Result<void> remove(const base::ObjectId& id) override;

  // The bodies of the supervised tasks.
  platform::Task<void> put_worker(runtime::Shutdown shutdown);
  platform::Task<void> auditor(observe::Log log, runtime::Shutdown shutdown);

  void apply(const StorageConfig& config) noexcept;

  [[nodiscard]] const RamStore& store() const noexcept { return store_; }

 private:
  struct PutJob {
    base::Buffer bytes;
    std::optional<base::ObjectId> expected;
    runtime::OneshotSender<base::Result<Stored>> reply;
  };
  base::Error busy() const;
  base::Result<Stored> store(base::Buffer bytes, const std::optional<base::ObjectId>& expected);

  platform::SendArena& arena_;
  RamStore store_;
  runtime::Mpsc<PutJob> work_;
  runtime::Broadcast<StorageEvent> events_;
  std::atomic<std::int64_t> work_delay_ns_;
};

}  // namespace ron::storage
