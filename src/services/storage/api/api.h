// StorageApi: what other services may ask of svc-storage, in the same process or over HTTP.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "b3/tree.h"
#include "base/buffer.h"
#include "base/object_id.h"
#include "base/result.h"
#include "base/ulid.h"
#include "http/body_source.h"
#include "platform/task.h"
#include "runtime/deadline.h"

namespace ron::storage_api {

struct ObjectInfo {
  base::ObjectId id;
  std::uint64_t length = 0;
  friend bool operator==(const ObjectInfo&, const ObjectInfo&) = default;
};

// Bytes of an object.
struct Range {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  friend bool operator==(const Range&, const Range&) = default;
};

// Verified bytes on their way. The first were checked before this was handed out; a later error
// ends the stream, and what came before it is still genuine.
struct ObjectStream {
  std::uint64_t object_length = 0;
  Range range;  // what the body brings: what was asked for, cut at the object's end
  std::unique_ptr<http::BodySource> body;
};

// Until when an answer is waited for, and on whose behalf.
struct Call {
  runtime::Deadline deadline;
  std::string tenant{};
  base::Ulid corr_id{};
  std::string token{};  // its fingerprint, for those who keep account of changes
};

// Bytes to store; with `expected`, only if they have that address.
struct NewObject {
  base::Buffer bytes;
  std::optional<base::ObjectId> expected{};
};

struct Stored {
  ObjectInfo object;
  bool is_new = false;
};

// Uploads are named by a ULID; their parts are numbered from zero and have
// base::limits::kPartBytes each, but for the last.
using UploadId = base::Ulid;

struct NewUpload {
  std::uint64_t length = 0;
  std::optional<base::ObjectId> expected{};
};

struct UploadInfo {
  UploadId id;
  std::uint64_t length = 0;
  std::int64_t expires_unix_s = 0;
  // Parts [first, last] that have arrived, ascending.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> arrived{};
};

// Something that happened to what is stored.
struct Change {
  enum class Kind : std::uint8_t {
    Stored,
    Removed,
    Missed,  // whoever listens was too slow: it lists what is there to know
  };
  Kind kind = Kind::Missed;
  ObjectInfo object{};  // of Stored and Removed
};

// One listener's place in the changes. Used by one task at a time.
class Changes {
 public:
  Changes() = default;
  Changes(const Changes&) = delete;
  Changes& operator=(const Changes&) = delete;
  virtual ~Changes() = default;

  // Timeout when nothing happened until the deadline; Draining when there will be no more.
  // Cancel-safe: what was not handed out is handed out next.
  virtual platform::Task<base::Result<Change>> next(runtime::Deadline deadline) = 0;
};

// Any executor. Errors are those of the contract's table: NotFound, Busy when the queue of work is
// full, Timeout when the deadline passes, Draining once a stop was asked for. Cancel-safe, all of
// them: an aborted change may or may not have happened, which content addressing makes harmless.
class StorageApi {
 public:
  StorageApi() = default;
  StorageApi(const StorageApi&) = delete;
  StorageApi& operator=(const StorageApi&) = delete;
  virtual ~StorageApi() = default;

  virtual platform::Task<base::Result<ObjectInfo>> stat(base::ObjectId id,
                                                        runtime::Deadline deadline) = 0;
  // All of the object, or a part of it. RangeNotSatisfiable when nothing of that is there;
  // IntegrityFail when what is stored is damaged. The deadline is for the first bytes; each further
  // piece has the time a read may take.
  virtual platform::Task<base::Result<ObjectStream>> open(base::ObjectId id,
                                                          std::optional<Range> range,
                                                          runtime::Deadline deadline) = 0;

  // Adds the tenant's hold, if it has none. HashMismatch when the bytes have another address.
  virtual platform::Task<base::Result<Stored>> put(NewObject object, Call call) = 0;
  // Takes the tenant's hold away; the object goes with the last.
  virtual platform::Task<base::Result<void>> remove(base::ObjectId id, Call call) = 0;

  // What is larger than one body comes in parts, in any order. An upload belongs to the tenant that
  // began it; to any other it is NotFound.
  virtual platform::Task<base::Result<UploadInfo>> begin_upload(NewUpload upload, Call call) = 0;
  virtual platform::Task<base::Result<UploadInfo>> stat_upload(UploadId id, Call call) = 0;
  // The value of the part's subtree.
  virtual platform::Task<base::Result<b3::ChainingValue>> put_part(UploadId id, std::uint64_t part,
                                                                   base::Buffer bytes,
                                                                   Call call) = 0;
  // PreconditionFailed with the missing parts, HashMismatch when it was to have another address.
  virtual platform::Task<base::Result<Stored>> commit_upload(UploadId id, Call call) = 0;
  virtual platform::Task<base::Result<void>> abort_upload(UploadId id, Call call) = 0;

  // Up to `limit` objects with addresses above `after`, in order of address.
  virtual platform::Task<base::Result<std::vector<ObjectInfo>>> list(
      std::optional<base::ObjectId> after, std::size_t limit, runtime::Deadline deadline) = 0;
  // What is stored and removed from now on. To know all there is: listen first, then list.
  virtual std::unique_ptr<Changes> listen() = 0;
};

}  // namespace ron::storage_api
