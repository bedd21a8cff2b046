// VerifiedFile: an open file that hands out only bytes that are what they were when it was opened.
//
// Opening hashes all of it in groups of 64 KiB, whose values stay in memory: half a MiB for each
// GiB. Whatever is read later is read in whole groups and hashed again, so that a file that
// somebody overwrites, truncates or damages is IntegrityFail and never a mixture of two states.
//
// Hashing and blocking reads run on the blocking pool, in slices, so that no core and no thread of
// the pool is kept for long. Immutable once it is open: any core, any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "b3/tree.h"
#include "base/buffer.h"
#include "base/object_id.h"
#include "base/result.h"
#include "pack/pack.h"
#include "pack/source.h"
#include "platform/disk.h"
#include "platform/task.h"
#include "runtime/deadline.h"

namespace ron::pack {

class VerifiedFile final : public Source {
 public:
  // What is read of the file at once, and what read_some() returns at most.
  static constexpr std::size_t kReadBytes = base::limits::kPartBytes;

  // Errors of Disk and File; Malformed when the file is empty, or is changed or replaced meanwhile,
  // as far as the disk can tell: whoever begins again when it has settled has one state of it.
  // Cancel-safe: yes; a slice that is being hashed is finished and dropped.
  static platform::Task<base::Result<std::shared_ptr<VerifiedFile>>> open(Place place,
                                                                          std::string path,
                                                                          Progress progress);

  [[nodiscard]] std::uint64_t size() const noexcept override { return bytes_; }
  [[nodiscard]] const base::ObjectId& hash() const noexcept { return hash_; }
  [[nodiscard]] std::uint64_t memory_bytes() const noexcept {
    return values_.capacity() * b3::ChainingValue::kBytes;
  }

  // Exactly these bytes, which must lie within the file (asserted). IntegrityFail, StorageBusy,
  // Timeout. Cancel-safe.
  platform::Task<base::Result<base::Buffer>> read(std::uint64_t offset, std::uint64_t length,
                                                  runtime::Deadline deadline);
  base::Result<void> fill(std::uint64_t offset, base::MutableBytes into) override;

 private:
  VerifiedFile(std::unique_ptr<platform::File> file, std::string path, std::uint64_t bytes);

  // Reads and hashes the slice that begins at group `first`; runs on the pool.
  base::Result<void> hash_slice(std::uint64_t first, std::uint64_t groups);
  base::Result<void> finish_hash();
  platform::Task<base::Result<base::Buffer>> read_groups(b3::GroupRange range,
                                                         runtime::Deadline deadline);
  // Whether these are the groups of the range, all of them.
  [[nodiscard]] bool matches(b3::GroupRange range, base::ByteView bytes) const;
  [[nodiscard]] std::unexpected<base::Error> changed() const;

  std::unique_ptr<platform::File> file_;
  std::string path_;
  std::uint64_t bytes_;
  base::ObjectId hash_;
  std::vector<b3::ChainingValue> values_;  // of each group; one, its own, for a single group
};

// Pack::read of a pack that is this file: RangeNotSatisfiable past its end.
platform::Task<base::Result<base::Buffer>> read_some(std::shared_ptr<VerifiedFile> file,
                                                     std::uint64_t offset, std::uint64_t length,
                                                     runtime::Deadline deadline);

}  // namespace ron::pack
