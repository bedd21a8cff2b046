// Bytes that recovery took out of the log, kept in files beside it: nothing that may once have been
// acknowledged is destroyed because it does not check today.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "platform/task.h"
#include "volume/segment.h"
#include "volume/state.h"

namespace ron::volume {

// The folder is bounded: the oldest files go first. One batch always fits.
inline constexpr std::uint64_t kQuarantineBytes = 64 * base::kMiB;
inline constexpr std::size_t kQuarantineFiles = 256;

// Copies bytes [begin, end) of a segment's file to files in the folder quarantine of the directory,
// named after the segment and the offset, if they are anything but zeros; how many bytes.
// Cancel-safe in that what was copied stays.
platform::Task<base::Result<std::uint64_t>> quarantine_bytes(
    platform::Disk* disk, std::string directory, std::string segment,
    std::shared_ptr<platform::File> file, std::uint64_t begin, std::uint64_t end);
// The same for a segment of a volume.
platform::Task<base::Result<std::uint64_t>> quarantine_bytes(VolumeState* state, SegmentPtr segment,
                                                             std::uint64_t begin,
                                                             std::uint64_t end);

}  // namespace ron::volume
