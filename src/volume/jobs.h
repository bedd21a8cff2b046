// What the single writer is asked to do. Each job carries the reply it owes.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "b3/tree.h"
#include "base/buffer.h"
#include "volume/entry.h"
#include "volume/record.h"
#include "volume/volume.h"

namespace ron::volume {

struct PutJob {
  NewObject object;
  Reply<Added> reply;
};

struct RemoveJob {
  Removal removal;
  Reply<Removed> reply;
};

struct BeginJob {
  Upload upload;
  Reply<bool> reply;
};

struct PartJob {
  NewPart part;
  std::vector<b3::ChainingValue> groups;
  Reply<b3::ChainingValue> reply;
};

struct CommitJob {
  UploadId upload;
  Reply<Added> reply;
};

struct AbortJob {
  UploadId upload;
  Reply<bool> reply;
};

// A record that compaction has read and verified; it is written again if it still counts.
struct Copy {
  Record record;
  Place place;
  base::Buffer payload;
};
struct CopyJob {
  std::vector<Copy> copies;
  Reply<bool> reply;
};

// The object was found damaged where the index says it is.
struct QuarantineJob {
  base::ObjectId id;
  std::uint64_t group = 0;
  Place place;
};

// What happens between two batches.
struct SealJob {  // the next write begins a new segment
  Reply<bool> reply;
};
struct PauseJob {  // nothing is being written when the reply comes
  Reply<bool> reply;
};
struct LinkJob {  // all segments get a second name in a directory, and their log an end there
  std::string directory;
  Reply<bool> reply;
};
struct DropJob {  // a segment whose only counting records, if any, are these
  struct Tombstone {
    Record record;
    Place place;
  };
  std::uint64_t segment = 0;
  std::vector<Tombstone> tombstones;
  Reply<bool> reply;
};

using Job = std::variant<PutJob, RemoveJob, BeginJob, PartJob, CommitJob, AbortJob, CopyJob,
                         QuarantineJob, SealJob, PauseJob, LinkJob, DropJob>;

// Bytes of the client's the job carries.
std::uint64_t payload_bytes(const Job& job) noexcept;
// The writer has taken the job up: nobody waits for it any more.
void has_arrived(Job& job) noexcept;
// Answers the job with the error; jobs that owe nothing are just dropped.
void refuse(Job job, const base::Error& error);

}  // namespace ron::volume
