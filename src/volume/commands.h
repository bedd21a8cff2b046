// What the single writer is asked to do. Each command carries the reply it owes.
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

struct PutCommand {
  NewObject object;
  Reply<Added> reply;
};

struct RemoveCommand {
  Removal removal;
  Reply<Removed> reply;
};

struct BeginCommand {
  Upload upload;
  Reply<bool> reply;
};

struct PartCommand {
  NewPart part;
  std::vector<b3::ChainingValue> groups;
  Reply<b3::ChainingValue> reply;
};

struct CommitCommand {
  UploadId upload;
  Reply<Added> reply;
};

struct AbortCommand {
  UploadId upload;
  Reply<bool> reply;
};

// A record that compaction has read and verified; it is written again if it still counts.
struct Copy {
  Record record;
  Place place;
  base::Buffer payload;
};
struct CopyCommand {
  std::vector<Copy> copies;
  Reply<bool> reply;
};

// The object was found damaged where the index says it is.
struct QuarantineCommand {
  base::ObjectId id;
  std::uint64_t group = 0;
  Place place;
};

// What happens between two batches.
struct SealCommand {  // the next write begins a new segment
  Reply<bool> reply;
};
struct PauseCommand {  // nothing is being written when the reply comes
  Reply<bool> reply;
};
struct LinkCommand {  // all segments get a second name in a directory, and their log an end there
  std::string directory;
  Reply<bool> reply;
};
struct DropCommand {  // a segment whose only counting records, if any, are these
  struct Tombstone {
    Record record;
    Place place;
  };
  std::uint64_t segment = 0;
  std::vector<Tombstone> tombstones;
  Reply<bool> reply;
};

using Command = std::variant<PutCommand, RemoveCommand, BeginCommand, PartCommand, CommitCommand,
                             AbortCommand, CopyCommand, QuarantineCommand, SealCommand,
                             PauseCommand, LinkCommand, DropCommand>;

// Bytes of the client's the command carries.
std::uint64_t payload_bytes(const Command& command) noexcept;
// The writer has taken the command up: nobody waits for it any more.
void has_arrived(Command& command) noexcept;
// Answers the command with the error; commands that owe nothing are just dropped.
void refuse(Command command, const base::Error& error);

}  // namespace ron::volume
