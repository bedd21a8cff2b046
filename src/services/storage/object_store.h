// What others may ask of svc-storage, over HTTP or in the same process.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/buffer.h"
#include "base/object_id.h"
#include "base/result.h"
#include "platform/task.h"
#include "runtime/deadline.h"
#include "services/kit/work_queue.h"
#include "services/storage/jobs.h"
#include "services/storage/object.h"
#include "services/storage/upload_table.h"

namespace ron::storage {

struct Stored {
  base::ObjectId id;
  std::uint64_t length = 0;
  bool is_new = false;
};

// Bytes to store, for whom; with `expected`, only if they have that address (HashMismatch).
struct NewBytes {
  base::Buffer bytes;
  std::optional<base::ObjectId> expected;
  std::string tenant;
  Origin origin{};
};

// Which bytes of an object, and how long they may take.
struct ReadRequest {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;  // at most volume::kPartBytes
  runtime::Deadline deadline;
  kit::WhenFull when_full = kit::WhenFull::Refuse;
};

// An upload to begin.
struct NewUpload {
  std::uint64_t length = 0;
  std::optional<base::ObjectId> expected;
  std::string tenant;
};

// Until when an answer is waited for, and on whose behalf.
struct Call {
  Call(runtime::Deadline until) : deadline(until) {}  // NOLINT: nobody in particular asks
  Call(runtime::Deadline until, Origin from) : deadline(until), origin(std::move(from)) {}
  runtime::Deadline deadline;
  Origin origin;
};

// Thread-safe. Errors are those of the contract's table. Writes: Busy when the work queue is full,
// Timeout when the deadline passes, Draining once a stop was asked for. Cancel-safe, all of them:
// an aborted write may or may not have happened, which content addressing makes harmless.
class ObjectStore {
 public:
  ObjectStore() = default;
  ObjectStore(const ObjectStore&) = delete;
  ObjectStore& operator=(const ObjectStore&) = delete;
  virtual ~ObjectStore() = default;

  // The object if it is in memory, verified. Null says nothing about the volumes. Never waits.
  virtual ObjectPtr cached(const base::ObjectId& id) const = 0;
  // NotFound when no volume has it.
  virtual platform::Task<base::Result<LocatedObject>> locate(base::ObjectId id,
                                                             runtime::Deadline deadline) = 0;
  // An object of this length is loaded whole into memory rather than streamed.
  [[nodiscard]] virtual bool loads_whole(std::uint64_t length) const = 0;
  virtual platform::Task<base::Result<ObjectPtr>> load(LocatedObject found,
                                                       runtime::Deadline deadline) = 0;
  // Verified bytes: at least one, fewer than asked for at the end of a part.
  virtual platform::Task<base::Result<volume::Piece>> read(LocatedObject found,
                                                           ReadRequest asked) = 0;
  // How much of a stream is read at once, and how long one such piece may take.
  [[nodiscard]] virtual std::uint64_t chunk_bytes() const = 0;
  [[nodiscard]] virtual base::Duration piece_timeout() const = 0;

  // Adds the tenant's hold, if it has none.
  virtual platform::Task<base::Result<Stored>> put(NewBytes asked, runtime::Deadline deadline) = 0;
  // Busy if a put would be refused now, counted as such: lets a listener refuse before it reads a
  // body.
  virtual base::Result<void> check_room() = 0;
  // Takes the tenant's hold away, or all of them; the object goes with the last. NotFound when
  // there is none.
  virtual platform::Task<base::Result<void>> remove(volume::Removal removal, Call call) = 0;

  // Uploads belong to a tenant; to any other they are NotFound.
  virtual platform::Task<base::Result<volume::Upload>> begin_upload(NewUpload asked,
                                                                    runtime::Deadline deadline) = 0;
  virtual platform::Task<base::Result<OpenUpload>> open_upload(volume::UploadId id,
                                                               std::string tenant,
                                                               runtime::Deadline deadline) = 0;
  virtual platform::Task<base::Result<volume::UploadState>> upload_state(
      volume::UploadId id, std::string tenant, runtime::Deadline deadline) = 0;
  // The bytes are exactly those of that part of an upload that was opened before.
  virtual platform::Task<base::Result<b3::ChainingValue>> put_part(OpenUpload open,
                                                                   std::uint64_t part,
                                                                   base::Buffer bytes,
                                                                   runtime::Deadline deadline) = 0;
  // PreconditionFailed with the missing parts, HashMismatch when it was to have another address.
  // A repetition has the same answer until the upload would have expired.
  virtual platform::Task<base::Result<Stored>> commit_upload(volume::UploadId id,
                                                             std::string tenant, Call call) = 0;
  virtual platform::Task<base::Result<void>> abort_upload(volume::UploadId id, std::string tenant,
                                                          runtime::Deadline deadline) = 0;
};

}  // namespace ron::storage
