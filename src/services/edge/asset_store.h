// AssetStore: the bytes of assets on disk, and what is remembered of them over restarts.
//
//   <directory>/objects   a volume (src/volume): the bytes, each under its address
//   <directory>/entries   a map from holds to what encode(AssetFacts) writes
//
// Each asset holds its bytes under a name of its own, so that the same bytes of two URLs go with
// the last of them. An entry is written only after the bytes it speaks of are durable, and nothing
// is ever answered but bytes that were checked against their address. So a crash may lose entries,
// and never makes a wrong one. Entries without bytes are misses; bytes without an entry are removed
// by the janitor.
//
// Whoever changes something takes a place on `evictions` first and gives it back with the change:
// no change is ever refused or lost, even if its maker is aborted, and whoever fills waits for the
// janitor when that is behind.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/buffer.h"
#include "base/result.h"
#include "http/body_source.h"
#include "observe/log.h"
#include "platform/key_value.h"
#include "platform/task.h"
#include "runtime/mpsc.h"
#include "runtime/oneshot.h"
#include "runtime/permit.h"
#include "runtime/shutdown.h"
#include "services/edge/asset.h"
#include "services/edge/parts.h"
#include "services/edge/url_table.h"
#include "volume/disk_volume.h"

namespace ron::edge {

// Bytes on disk that some asset, or nobody, has under a name.
struct HeldBytes {
  base::ObjectId address;
  std::string hold;
};

// An upload that nobody goes on with. It may have been committed all the same.
struct LeftUpload {
  volume::UploadId id;
  std::string hold;
};

// What the janitor is to do on disk. Removing what is not there is no error.
struct Change {
  AssetPtr kept{};               // is to be remembered, if the table still has it by then
  std::vector<AssetPtr> gone{};  // are to be forgotten, and their bytes let go
  std::vector<HeldBytes> leftovers{};
  std::optional<LeftUpload> upload{};  // is to be ended
  runtime::Semaphore::Permit place{};
  // Told when what is gone stays gone after a crash, too.
  std::optional<runtime::OneshotSender<bool>> durable{};
};

// Made and opened on cores[0]; used on any core. The table outlives it.
class AssetStore {
 public:
  // What the volume keeps in memory.
  static constexpr std::uint64_t kFingerprintBytes = 16 * base::kMiB;
  static constexpr std::uint64_t kPartTableBytes = 8 * base::kMiB;

  // What the segments may take on disk before nothing further is kept there. What was let go is
  // freed in the background, a segment once half of it is dead: so they hold twice what is kept,
  // and some are being written or about to be freed.
  static constexpr std::uint64_t kStoredPerKept = 2;
  static constexpr std::uint64_t kSegmentsBeyond = 4;
  static std::uint64_t segment_bytes(const EdgeConfig& config) noexcept;

  AssetStore(const EdgeParts& parts, UrlTable& table);
  AssetStore(const AssetStore&) = delete;
  AssetStore& operator=(const AssetStore&) = delete;
  ~AssetStore();

  // Opens the volume and fills the table with what is remembered. Not cancel-safe.
  platform::Task<base::Result<>> open();

  // A place for one change; Timeout when the janitor is that far behind. Cancel-safe.
  platform::Task<base::Result<runtime::Semaphore::Permit>> place(runtime::Deadline deadline);
  [[nodiscard]] runtime::Semaphore::Permit try_place() noexcept { return places_.try_acquire(); }
  // Hands a change that has a place to the janitor. Never waits.
  void submit(Change change);

  // The segments take less than they may.
  [[nodiscard]] bool has_room() const;
  // Waits for that; false when there is none in time. Cancel-safe.
  platform::Task<bool> wait_for_room(runtime::Deadline deadline);

  // A name nobody had before, in this life or an earlier one.
  [[nodiscard]] std::string new_hold(std::uint64_t serial) const;

  // NotFound, IntegrityFail (never served), StorageBusy, Degraded, Timeout. Cancel-safe.
  platform::Task<base::Result<volume::ObjectHandle>> locate(base::ObjectId address);
  // All of it; at most base::limits::kDecodedBytes. Cancel-safe.
  platform::Task<base::Result<base::Buffer>> load(base::ObjectId address);
  // The body from `offset` on. The first piece is read before it returns. Cancel-safe.
  platform::Task<base::Result<std::unique_ptr<http::BodySource>>> stream(
      volume::ObjectHandle object, std::uint64_t offset, std::uint64_t length);

  // The body of the cache-janitor.
  platform::Task<void> janitor(runtime::Shutdown shutdown);

  [[nodiscard]] volume::DiskVolume& volume() noexcept { return volume_; }
  [[nodiscard]] volume::VolumeHealth health() const { return volume_.health(); }
  [[nodiscard]] platform::Host& host() noexcept { return host_; }
  [[nodiscard]] std::size_t changes_waiting() const noexcept { return changes_.depth(); }

 private:
  platform::Task<base::Result<>> open_map();
  platform::Task<base::Result<>> load_entries();
  struct Next {
    std::optional<Change> change{};
    bool stops = false;
  };
  // Nothing when it is time to wake up; a stop comes with what is queued.
  platform::Task<Next> next_change(runtime::Shutdown shutdown, runtime::Deadline wake);
  // The same without waiting.
  [[nodiscard]] Next next_now(const runtime::Shutdown& shutdown);
  platform::Task<void> apply(std::vector<Change> changes);
  platform::Task<void> remove(std::vector<HeldBytes> all);
  platform::Task<void> end_upload(LeftUpload upload);
  platform::Task<void> flush();
  // What earlier lives left on the volume without an entry, and entries that say nothing: a page of
  // it at a time, so that changes need not wait for all.
  enum class Swept : std::uint8_t { Some, Everything, NotNow };
  platform::Task<Swept> sweep(runtime::Shutdown shutdown);
  platform::Task<bool> sweep_entries();
  // Adds to `unwanted` what nobody knows of an object.
  platform::Task<base::Result<>> look_at(base::ObjectId id, std::vector<HeldBytes>* unwanted);

  platform::Host host_;
  observe::Log log_;
  std::string directory_;
  UrlTable& table_;
  runtime::Watch<SettingsPtr>* settings_;
  Loader* generations_;
  const std::string life_;  // what the holds of this life begin with
  volume::DiskVolume volume_;
  std::unique_ptr<platform::KeyValue> map_;
  runtime::Semaphore places_;  // outlives the changes, which have them
  runtime::Mpsc<Change> changes_;
  // The janitor's, after open().
  std::unordered_map<std::string, base::ObjectId> remembered_;  // by hold, as of the start
  std::vector<AssetPtr> unwanted_;   // what the table had no room for at the start
  std::vector<std::string> unread_;  // entries that say nothing
  std::optional<base::ObjectId> swept_;
  bool is_swept_ = false;
  bool is_dirty_ = false;
};

}  // namespace ron::edge
