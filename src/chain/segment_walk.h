// The frames of a segment that count, and what to make of the place where they end.
//
// Of a segment that another one follows, that one's head says where it ends: whatever does not
// check before that is damage. In the last segment, frames that end at or below some frame's
// durable_before were synced, so one of those that does not check is damage, too. Behind them lies
// at most one batch. Perhaps it was acknowledged: then all of it was on the medium, and what does
// not check has rotted since. Perhaps the power went while it was written: then sectors of it were
// never written and are zeros, or lie behind the end of the file: it is torn, and nobody was told
// of it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "chain/frame.h"
#include "chain/segment_table.h"
#include "platform/disk.h"
#include "platform/task.h"

namespace ron::chain {

using FrameVisitor = std::function<base::Result<void>(const FrameView&)>;

// A segment whose head checks, open for reading.
struct OpenSegment {
  std::shared_ptr<platform::File> file;
  std::string path;
  std::uint64_t bytes = 0;
  SegmentHead head;
};

// The segment `first` in the folder. IntegrityFail if its head does not check, is another
// segment's or, if an identity is given, another log's. Cancel-safe.
platform::Task<base::Result<OpenSegment>> open_segment(platform::Disk* disk, std::string folder,
                                                       std::uint64_t first,
                                                       std::optional<LogIdentity> log);

// The frames from the first on that are all sound, one behind the other.
struct WalkedSegment {
  std::shared_ptr<SegmentTable> table;           // of them
  std::uint64_t last_batch = kSegmentHeadBytes;  // where the last one's batch begins
};

// Ends at the first place where no sound frame with the next number stands, at the latest before
// frame `until`. Frames from `from` on are visited; an error of `visit` ends it. Cancel-safe.
platform::Task<base::Result<WalkedSegment>> walk_segment(const OpenSegment* segment,
                                                         std::uint64_t from, std::uint64_t until,
                                                         const FrameVisitor* visit);

// The last segment goes on behind `end`, where frame `next` should stand: true if that was torn,
// false if it is damage. Cancel-safe.
platform::Task<base::Result<bool>> is_torn(const OpenSegment* segment, std::uint64_t end);

// Where the sectors behind `end` that are not all zeros end; `end` if all are. Cancel-safe.
platform::Task<base::Result<std::uint64_t>> end_of_bytes(const OpenSegment* segment,
                                                         std::uint64_t end);

// IntegrityFail that names the file, the frame and the offset.
base::Error damage_error(const OpenSegment& segment, std::uint64_t number, std::uint64_t offset,
                         std::string_view advice);

}  // namespace ron::chain
