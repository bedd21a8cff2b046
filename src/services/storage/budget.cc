#include "services/storage/budget.h"

#include <algorithm>
#include <optional>

#include "http/wire.h"
#include "observe/log.h"
#include "services/storage/core.h"

namespace ron::storage {
namespace {

// Both listeners have the section's connection limits.
constexpr std::uint64_t kListeners = 2;
// A busy connection: the head it works on and the buffer it reads a body with, and below that the
// request's state and coroutine frames, rounded up.
constexpr std::uint64_t kRequestStateBytes = 16 * base::kKiB;
constexpr std::uint64_t kConnectionBytes = 2 * http::ReadBuffer::kBytes + kRequestStateBytes;
// A decoded body grows by doubling and is copied once to its final size.
constexpr std::uint64_t kDecodeGrowth = 3;
// A waiting job besides its body, which is counted with the requests in flight; each lane has a
// place for every one.
constexpr std::uint64_t kWorkItemBytes = kWorkLanes * sizeof(std::optional<Job>);
// What an open upload takes here besides its parts, which are on a volume, rounded up.
constexpr std::uint64_t kOpenUploadBytes = 512;
// What is being written at once: two batches of as many bytes as a batch may have.
constexpr std::uint64_t kCommitBatches = 2;
constexpr std::uint64_t kCommitBatchBytes = 64 * base::kMiB;
// Blocks of one volume's index.
constexpr std::uint64_t kIndexCacheBytes = 32 * base::kMiB;
// Producers fill one buffer while the writer empties the other.
constexpr std::uint64_t kLogBuffers = 2;

// Per core: epoll, wake-up, timer, ring and the two listeners, with room to spare.
constexpr std::uint64_t kDescriptorsPerCore = 8;
// Standard streams, signals, files read at start-up and reload.
constexpr std::uint64_t kDescriptorsOfProcess = 32;

}  // namespace

std::vector<Addend> memory_budget(const StorageConfig& config) {
  const http::ServerSettings& server = config.server;
  const std::uint64_t decoded = std::min(server.decode_abs_cap_bytes.bytes,
                                         server.max_body_bytes.bytes * server.decode_ratio_max);
  const std::uint64_t body = std::max(server.max_body_bytes.bytes, kDecodeGrowth * decoded);
  std::vector<Addend> sum = {
      {"objects (storage.cache_bytes)", 1, config.cache_bytes.bytes},
      {"room lost in partly used blocks of large objects (storage.cache_bytes)", 1,
       config.cache_bytes.bytes},
      {"bodies (storage.server.max_inflight, storage.limits.decode_abs_cap_bytes while decoding)",
       server.max_inflight, body},
      {"connections (storage.max_conns, both listeners)", kListeners * server.max_conns,
       kConnectionBytes},
      {"work queue (storage.channels.work)", config.work_capacity, kWorkItemBytes},
      {"open uploads (storage.uploads.max_open)", config.uploads.max_open, kOpenUploadBytes},
      {"events (storage.channels.events)", config.events_capacity, sizeof(StorageEvent)},
      {"log queue", kLogBuffers, observe::kLogQueueBytes},
  };
  if (config.amnesia) return sum;
  const std::uint64_t volumes = std::max<std::uint64_t>(1, config.data_dirs.size());
  sum.push_back({"pieces on their way to clients (storage.server.max_inflight, storage.chunk_size)",
                 server.max_inflight, config.chunk_size.bytes});
  sum.push_back({"objects being loaded (storage.get_workers)", config.get_workers,
                 base::limits::kDecodedBytes});
  sum.push_back({"writes being made durable (storage.data_dirs)", volumes * kCommitBatches,
                 kCommitBatchBytes});
  sum.push_back({"index (storage.data_dirs)", volumes, kIndexCacheBytes});
  return sum;
}

std::uint64_t total_bytes(const std::vector<Addend>& budget) noexcept {
  std::uint64_t total = 0;
  for (const Addend& addend : budget) total += addend.bytes();
  return total;
}

std::uint64_t descriptors_needed(const StorageConfig& config, std::size_t cores) noexcept {
  return kListeners * config.server.max_conns + cores * kDescriptorsPerCore + kDescriptorsOfProcess;
}

}  // namespace ron::storage
