// Store: what svc-index keeps. A map whose changes are durable when commit() returns.
//
// The map (RocksDB) keeps no log of its own, so every change is first a frame of a log of ours
// (chain/frame_log.h): one write and one sync for a batch. The map notes with each batch up to
// which frame it has come; a start applies the rest. When much of the log is in the map for good,
// the segments that hold it are removed.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "chain/frame_log.h"
#include "platform/disk.h"
#include "platform/host.h"
#include "platform/key_value.h"
#include "platform/task.h"

namespace ron::index {

class MemoryMap;

struct StoreOptions {
  std::string directory;
  std::uint64_t cache_bytes = 0;  // for blocks of the map
  bool is_amnesiac = false;
  std::function<void(std::string_view text)> on_trouble;
};

// Opened on cores[0], where its one writer runs; read on any core.
class Store {
 public:
  // `disk` is the host's, or one in memory; it outlives the store.
  Store(platform::Host host, platform::Disk* disk, StoreOptions options);
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  // The error names the directory. Not cancel-safe.
  platform::Task<base::Result<void>> open();

  // What memory alone can tell; see platform::KeyValue. From open() on.
  [[nodiscard]] platform::KeyValue& map() noexcept { return *map_; }

  // Memory the map takes; nothing before open().
  [[nodiscard]] std::uint64_t memory_bytes() const { return map_ ? map_->memory_bytes() : 0; }

  // What belongs together, such as the changes of one request.
  using Changes = std::vector<platform::KeyValueBatch::Change>;
  // Makes all of them durable, in order, and then visible. StorageFull, and nothing has happened,
  // when memory is all there is and has no room. After any other error none of them is seen, and
  // nothing more is taken until repair() has succeeded. One task at a time. Cancel-safe in that
  // sense.
  platform::Task<base::Result<void>> commit(std::vector<Changes> all);
  [[nodiscard]] bool needs_repair() const noexcept { return log_.needs_repair() || map_is_behind_; }
  platform::Task<base::Result<void>> repair();

  // Puts the map's state on the medium and removes what the log need not keep, if that is due. By
  // the writer, between two commits. Cancel-safe: it can be done again.
  platform::Task<base::Result<void>> tidy();

  // Puts everything on the medium, so that the next start has nothing to do. Nothing can be
  // committed then. Cancel-safe: a start does it otherwise.
  platform::Task<base::Result<void>> close();

  // What a batch may come to.
  static constexpr std::size_t kBatchBytes = 8 * base::kMiB;
  static_assert(kBatchBytes < chain::kMaxBatchBytes);

 private:
  static constexpr std::uint64_t kSegmentBytes = 8 * base::kMiB;
  static constexpr std::uint64_t kTidyBytes = 4 * kSegmentBytes;

  platform::Task<base::Result<void>> open_map();
  platform::Task<base::Result<void>> replay();
  platform::Task<base::Result<void>> shorten_log();
  platform::Task<base::Result<void>> apply(platform::KeyValueBatch batch, std::uint64_t position);

  platform::Host host_;
  platform::Disk* const disk_;
  const StoreOptions options_;
  chain::FrameLog log_;
  std::unique_ptr<platform::KeyValue> map_;
  MemoryMap* memory_ = nullptr;     // the same in amnesia mode
  std::uint64_t position_ = 0;      // frames below it are in the map
  std::uint64_t untidy_bytes_ = 0;  // appended since the map was last flushed
  bool map_is_behind_ = false;      // the log has what the map did not take
};

}  // namespace ron::index
