#include "services/storage/budget.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "auth/caveat.h"
#include "base/buffer.h"
#include "observe/log.h"
#include "platform/blocking.h"
#include "services/storage/core.h"
#include "volume/options.h"

namespace ron::storage {
namespace {

// Both listeners have the section's connection limits.
constexpr std::uint64_t kListeners = 2;
// A waiting job besides its body, which is counted with the requests in flight; each lane has a
// place for every one.
constexpr std::uint64_t kWorkItemBytes = kWorkLanes * sizeof(std::optional<Job>);
// What an open upload takes here besides its parts, which are on a volume, rounded up.
constexpr std::uint64_t kOpenUploadBytes = 512;
// Bytes of writes are counted with the requests in flight until they are acknowledged; while they
// are copied into a batch there are two of them.
constexpr std::uint64_t kCommitBatches = 1;
// Besides its cache: what an index gathers before it writes it out, and its tables' own.
constexpr std::uint64_t kIndexOwnBytes = 64 * base::kMiB;
// The log and the access log.
constexpr std::uint64_t kLogQueues = 2;
// Producers fill one buffer while the writer empties the other.
constexpr std::uint64_t kLogBuffers = 2;

// Per core: epoll, wake-up, timer, ring and the two listeners, with room to spare.
constexpr std::uint64_t kDescriptorsPerCore = 8;
// Standard streams, signals, files read at start-up and reload.
constexpr std::uint64_t kDescriptorsOfProcess = 32;

}  // namespace

std::vector<kit::Addend> memory_budget(const StorageConfig& config, std::size_t cores) {
  const http::ServerSettings& server = config.server;
  std::vector<kit::Addend> sum = {
      {"objects (storage.cache_bytes)", 1, config.cache_bytes.bytes},
      {"room lost in partly used blocks of large objects (storage.cache_bytes)", 1,
       config.cache_bytes.bytes},
      {"work queue (storage.channels.work)", config.work_capacity, kWorkItemBytes},
      {"open uploads (storage.uploads.max_open)", config.uploads.max_open, kOpenUploadBytes},
      {"events (storage.channels.events)", config.events_capacity,
       sizeof(StorageEvent) + auth::kMaxTenantBytes},
      {"buffers kept for the next bodies", 1, base::Buffer::kSharedBytes},
      {"buffers kept by each thread (--cores)", cores + platform::kBlockingThreads,
       base::Buffer::kKeptBytes},
      {"log queues", kLogQueues * kLogBuffers, observe::kLogQueueBytes},
  };
  std::ranges::move(kit::listener_budget("storage", config, cores), std::back_inserter(sum));
  if (config.amnesia) {
    sum.push_back({"commits that can be repeated", kRememberedCommits, kOpenUploadBytes});
    return sum;
  }
  const std::uint64_t volumes = std::max<std::uint64_t>(1, config.data_dirs.size());
  // A reader keeps what it is sent, also when the memory tier has let go of it by then. It holds a
  // connection and, if it is slow, no place among the requests in flight.
  sum.push_back(
      {"objects that left the memory tier while they are sent (storage.max_conns, "
       "storage.cache_bytes)",
       server.max_conns,
       std::min<std::uint64_t>(base::limits::kDecodedBytes, config.cache_bytes.bytes), true});
  sum.push_back({"pieces on their way to clients (storage.max_conns, storage.chunk_size)",
                 server.max_conns, config.chunk_size.bytes + base::limits::kGroupBytes, true});
  sum.push_back({"objects being loaded (storage.get_workers)", config.get_workers,
                 base::limits::kDecodedBytes});
  sum.push_back({"writes being made durable (storage.data_dirs)", volumes * kCommitBatches,
                 volume::kBatchBytes});
  sum.push_back({"index (storage.index_cache_bytes, storage.data_dirs)", volumes,
                 config.index_cache_bytes.bytes + kIndexOwnBytes});
  sum.push_back({"part tables of large objects (storage.data_dirs)", volumes,
                 volume::Options().part_table_bytes});
  sum.push_back({"fingerprints of what was hashed (storage.fingerprint_bytes, storage.data_dirs)",
                 volumes, config.fingerprint_bytes.bytes});
  return sum;
}

std::uint64_t descriptors_needed(const StorageConfig& config, std::size_t cores) noexcept {
  return kListeners * config.server.max_conns + cores * kDescriptorsPerCore + kDescriptorsOfProcess;
}

}  // namespace ron::storage
