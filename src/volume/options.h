// What the owner of a DiskVolume decides.
#pragma once

#include <cstdint>
#include <string>

#include "base/units.h"
#include "volume/coming_writes.h"

namespace ron::volume {

// What may change while the volume is in use.
struct Tuning {
  base::Duration commit_window{};                 // how long a batch waits for announced writes
  std::uint64_t min_free_bytes = 1 * base::kGiB;  // writes are refused below this
  base::Rate scrub_rate{32 * base::kMiB};
  base::Duration scrub_every{};  // zero: only on request
};

struct Options {
  std::string directory;                         // made if it is not there; its parent is
  std::uint64_t segment_bytes = 1 * base::kGiB;  // a new segment is begun beyond this
  std::uint64_t index_cache_bytes = 0;           // for blocks of the index that were read from disk
  std::uint64_t part_table_bytes = 32 * base::kMiB;   // part tables of large objects kept in memory
  std::uint64_t fingerprint_bytes = 64 * base::kMiB;  // of what was hashed, 16 for each 16 KiB
  // Batches of at least this many bytes go to the medium past the page cache, in whole pages: what
  // is written once and synced at once gains nothing from being copied into the kernel first.
  std::uint64_t direct_bytes = 256 * base::kKiB;
  base::Duration compact_every = std::chrono::seconds(30);
  std::uint32_t compact_dead_percent = 50;
  Tuning tuning{};
  const ComingWrites* coming_writes = nullptr;  // outlives the volume; null: nobody announces any
  bool skip_sync = false;  // tests only: shows that the tests notice a lost write
};

// Bounds of one batch of the writer.
inline constexpr std::uint64_t kBatchBytes = 16 * base::kMiB;
inline constexpr std::size_t kBatchCommands = 1024;
// The index is flushed when more log than this would have to be replayed: bytes to read, or records
// to apply. Each flush makes a small file that is merged with all the others later, so large
// objects, of which little is indexed, had better not cause many.
inline constexpr std::uint64_t kReplayBytes = 256 * base::kMiB;
inline constexpr std::uint64_t kReplayRecords = 50'000;

}  // namespace ron::volume
