#include "app/budget.h"

#include <algorithm>

#include "http/wire.h"
#include "observe/log.h"
#include "services/storage/core.h"

namespace ron::app {
namespace {

// Both listeners have the section's connection limits.
constexpr std::uint64_t kListeners = 2;
// A busy connection: the head it works on and the buffer it reads a body with, and below that the
// request's state and coroutine frames, rounded up.
constexpr std::uint64_t kRequestStateBytes = 16 * base::kKiB;
constexpr std::uint64_t kConnectionBytes = 2 * http::ReadBuffer::kBytes + kRequestStateBytes;
// A decoded body grows by doubling and is copied once to its final size.
constexpr std::uint64_t kDecodeGrowth = 3;
// A waiting put besides its body, which is counted with the requests in flight.
constexpr std::uint64_t kWorkItemBytes = 128;
// Producers fill one buffer while the writer empties the other.
constexpr std::uint64_t kLogBuffers = 2;

// Per core: epoll, wake-up, timer, ring and the two listeners, with room to spare.
constexpr std::uint64_t kDescriptorsPerCore = 8;
// Standard streams, signals, files read at start-up and reload.
constexpr std::uint64_t kDescriptorsOfProcess = 32;

}  // namespace

std::vector<Addend> memory_budget(const storage::StorageConfig& config) {
  const http::ServerSettings& server = config.server;
  const std::uint64_t decoded = std::min(server.decode_abs_cap_bytes.bytes,
                                         server.max_body_bytes.bytes * server.decode_ratio_max);
  const std::uint64_t body = std::max(server.max_body_bytes.bytes, kDecodeGrowth * decoded);
  return {
      {"objects (storage.cache_bytes)", 1, config.cache_bytes.bytes},
      {"bodies (storage.server.max_inflight, storage.limits.decode_abs_cap_bytes while decoding)",
       server.max_inflight, body},
      {"connections (storage.max_conns, both listeners)", kListeners * server.max_conns,
       kConnectionBytes},
      {"work queue (storage.channels.work)", config.work_capacity, kWorkItemBytes},
      {"events (storage.channels.events)", config.events_capacity, sizeof(storage::StorageEvent)},
      {"log queue", kLogBuffers, observe::kLogQueueBytes},
  };
}

std::uint64_t total_bytes(const std::vector<Addend>& budget) noexcept {
  std::uint64_t total = 0;
  for (const Addend& addend : budget) total += addend.bytes();
  return total;
}

std::uint64_t descriptors_needed(const storage::StorageConfig& config, std::size_t cores) noexcept {
  return kListeners * config.server.max_conns + cores * kDescriptorsPerCore + kDescriptorsOfProcess;
}

}  // namespace ron::app
