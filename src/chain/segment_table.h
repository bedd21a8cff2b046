// Where the frames of a segment stand, so that one can be read without reading the others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.h"
#include "chain/frame.h"
#include "platform/disk.h"
#include "platform/task.h"

namespace ron::chain {

// Offsets fit 32 bits, and a table of the smallest frames has at most kMaxSegmentBytes / 72 of
// them.
inline constexpr std::uint64_t kMaxSegmentBytes = 1 * base::kGiB;

// Consecutive frames that are read together.
struct FrameRun {
  std::shared_ptr<platform::File> file;
  std::uint64_t segment = 0;
  std::uint64_t offset = 0;
  std::size_t bytes = 0;
  std::size_t frames = 0;
};

struct SegmentTable {
  static constexpr std::uint32_t kDamaged = 0;  // no frame stands there: the segment's head does

  std::uint64_t first = 0;
  std::shared_ptr<platform::File> file;
  std::vector<std::uint32_t> offsets;  // of each frame, or kDamaged if its head does not check
  std::uint32_t end = kSegmentHeadBytes;

  [[nodiscard]] std::uint64_t next() const noexcept { return first + offsets.size(); }
  // Frames from `number` on, which is one of them: at most `count` and, but for the first, of at
  // most `max_bytes` on the medium. IntegrityFail if its head is damaged; the run ends before a
  // later one that is.
  [[nodiscard]] base::Result<FrameRun> run(std::uint64_t number, std::size_t count,
                                           std::size_t max_bytes) const;
};
using TablePtr = std::shared_ptr<const SegmentTable>;

// Reads all heads of a segment that has the frames first .. until - 1, whatever state it is in.
// Cancel-safe.
platform::Task<base::Result<TablePtr>> read_table(std::shared_ptr<platform::File> file,
                                                  LogIdentity log, std::uint64_t first,
                                                  std::uint64_t until);

// The tables that were used last, with their files open. Four bytes for each frame: 0.5 MiB for a
// segment of 64 MiB with frames of 400 bytes. Under its owner's lock.
class RecentTables {
 public:
  static constexpr std::size_t kTables = 8;

  TablePtr find(std::uint64_t first);
  void put(TablePtr table);
  void forget(std::uint64_t first);
  void clear() { tables_.clear(); }

 private:
  std::vector<TablePtr> tables_;  // last used first
};

}  // namespace ron::chain
