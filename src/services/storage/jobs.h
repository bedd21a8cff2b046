// What goes through `work`: each job carries what a worker needs and the reply it owes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "b3/tree.h"
#include "base/buffer.h"
#include "base/object_id.h"
#include "services/kit/job.h"
#include "services/storage/cache.h"
#include "services/storage/object.h"
#include "services/storage/volume_set.h"
#include "services/storage/wires.h"
#include "volume/volume.h"

namespace ron::storage {

// Who asked for a change, for those who keep account of changes.
struct Origin {
  base::Ulid corr_id{};
  std::string tenant{};
  std::string token{};  // its fingerprint
};

using kit::JobBase;

// One piece of an object.
struct ReadJob : JobBase<volume::Piece, kGetLane> {
  LocatedObject object;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
};
// All of it, for the memory tier.
struct LoadJob : JobBase<ObjectPtr, kGetLane> {
  LocatedObject object;
};
struct PutJob : JobBase<volume::Added, kPutLane> {
  base::Buffer bytes;
  std::optional<base::ObjectId> expected;
  std::string tenant;
  Origin origin;
  volume::ComingWrites::Announcement announced;
};
struct RemoveJob : JobBase<volume::Removed, kPutLane> {
  volume::Volume* volume = nullptr;
  volume::Removal removal;
  Origin origin;
};
struct BeginJob : JobBase<bool, kPutLane> {
  volume::Volume* volume = nullptr;
  volume::Upload upload;
};
struct PartJob : JobBase<b3::ChainingValue, kPutLane> {
  volume::Volume* volume = nullptr;
  volume::NewPart part;
};
struct CommitJob : JobBase<volume::Added, kPutLane> {
  volume::Volume* volume = nullptr;
  volume::UploadId upload;
  Origin origin;
};
struct AbortJob : JobBase<bool, kPutLane> {
  volume::Volume* volume = nullptr;
  volume::UploadId upload;
};

using Job =
    std::variant<ReadJob, LoadJob, PutJob, RemoveJob, BeginJob, PartJob, CommitJob, AbortJob>;

}  // namespace ron::storage
