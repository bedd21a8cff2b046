// The end of a log that no later segment closes: which of its records count.
//
// Behind what is known to be synced lies at most one batch. Perhaps it was acknowledged: then all
// of it was on the medium, and what does not check has rotted since. Perhaps the power went while
// it was written: then sectors of it were never written and are zeros, or lie behind the end of the
// file. Which of the two it was is told record by record:
//
//   head and payload check                       it counts, whatever its neighbours look like
//   the head checks, the payload has a hole      torn: nobody was told about it, it does not count
//   the head checks, the payload is all there    rotten: it counts, and its object is withheld
//   no head checks                               nobody can tell what it was
//
// A part that has rotted counts only if its upload was committed: else the client sends it again.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "platform/task.h"
#include "volume/segment.h"

namespace ron::volume {

// The least that a medium writes or does not write.
inline constexpr std::uint64_t kSectorBytes = 512;

struct TailRecord {
  FoundRecord found;
  std::optional<std::uint64_t> bad_group;  // of the object: its bytes have rotted
};

struct Tail {
  std::vector<TailRecord> kept;       // in order
  std::vector<FoundRecord> left_out;  // their heads check

  // Where the log ends, if what is known to be synced ends at `begin`.
  [[nodiscard]] std::uint64_t end(std::uint64_t begin) const noexcept {
    return kept.empty() ? begin : kept.back().found.end();
  }
};

// A sector of these bytes, which stand at `offset` of a file, is all zeros: it was never written.
bool has_lost_sector(base::ByteView bytes, std::uint64_t offset);
// Sectors of the bad group, or its end, were never written.
bool is_torn(const FoundRecord& found, base::ByteView payload, std::uint64_t bad_group);

// Reads every payload of the records, which the scanner has found. Cancel-safe.
platform::Task<base::Result<Tail>> judge_tail(SegmentScanner* scanner,
                                              std::vector<FoundRecord> records);

}  // namespace ron::volume
