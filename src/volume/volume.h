// Volume: objects on one medium, each under the BLAKE3 hash of its bytes. A local directory
// (DiskVolume) or memory; later a peer.
//
// What a volume promises: an object is there whole or not at all; what was acknowledged survives
// whatever the medium promises to survive; bytes are handed out only after they were checked
// against the address asked for. Who may do what, queues of requests, quotas and caching are the
// caller's.
//
// An object is held by tenants: each put adds the caller's hold, a remove takes it away, and the
// bytes go with the last one.
//
// Writes are taken over by the volume and answered later through a reply, so that a worker never
// waits for the medium and one synchronisation can serve many of them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "b3/tree.h"
#include "base/buffer.h"
#include "base/object_id.h"
#include "base/result.h"
#include "base/ulid.h"
#include "platform/task.h"
#include "runtime/deadline.h"
#include "runtime/oneshot.h"
#include "volume/coming_writes.h"

namespace ron::volume {

// An upload is named by the ULID it was given; parts are numbered from zero.
using UploadId = base::Ulid;

inline constexpr std::uint64_t kPartBytes = base::limits::kPartBytes;

template <class T>
using Reply = runtime::OneshotSender<base::Result<T>>;

struct Added {
  base::ObjectId id;
  std::uint64_t length = 0;
  bool is_new = false;
};

struct NewObject {
  base::ObjectId id;   // the bytes were hashed to it by the caller
  base::Buffer bytes;  // at most base::limits::kDecodedBytes
  std::string tenant;
  // Values of its groups if the caller has them (b3::group_values); else the volume hashes again
  // what has more than one group.
  std::vector<b3::ChainingValue> groups;
  ComingWrites::Announcement announced{};
};

struct Upload {
  UploadId id;
  std::uint64_t length = 0;
  std::optional<base::ObjectId> expected;
  std::string tenant;
  std::int64_t expires_unix_s = 0;

  [[nodiscard]] std::uint64_t parts() const noexcept {
    return length == 0 ? 0 : (length - 1) / kPartBytes + 1;
  }
  [[nodiscard]] std::uint64_t part_length(std::uint64_t part) const noexcept {
    return part + 1 == parts() ? length - part * kPartBytes : kPartBytes;
  }
};

struct NewPart {
  UploadId upload;
  std::uint64_t part = 0;
  base::Buffer bytes;  // exactly the part's length
  ComingWrites::Announcement announced{};
};

// Parts [first, last] have arrived.
struct PartRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
};

struct UploadState {
  Upload upload;
  std::vector<PartRange> arrived;           // ascending, not touching
  std::optional<base::ObjectId> committed;  // as what; nothing else is known of its parts then
};

// An object as it was found. Cheap to copy; keeps what it needs to read the object alive, even if
// the object is removed or moved meanwhile.
struct ObjectHandle {
  base::ObjectId id;
  std::uint64_t length = 0;
  std::shared_ptr<const void> state;  // the volume's own
};

// Verified bytes of an object: `bytes` lie inside `buffer` or inside memory kept by `owner`.
struct Piece {
  base::ByteView bytes;
  base::Buffer buffer;
  std::shared_ptr<const void> owner;
};

struct Usage {
  std::uint64_t bytes = 0;
  std::uint64_t objects = 0;
  friend bool operator==(const Usage&, const Usage&) = default;
};

// What tenants hold: the largest of them by bytes, and all together. An object counts for everyone
// who holds it.
struct TenantUsage {
  struct Tenant {
    std::string name;
    Usage usage;
  };
  std::vector<Tenant> largest;  // the largest first
  Usage all;

  // Keeps the `most` largest.
  void add(std::string_view name, const Usage& usage, std::size_t most);
};

// Who wants an object removed: a tenant gives up its hold, or nobody in particular, and then all
// holds go.
struct Removal {
  base::ObjectId id;
  std::optional<std::string> tenant;
};
struct Removed {
  std::uint64_t length = 0;
  bool gone = false;  // the bytes, too: nobody holds them any more
};

// Some of those who hold an object, in order of their names.
struct Holders {
  std::vector<std::string> tenants;
  bool more = false;
};

struct VolumeStats {
  std::uint64_t objects = 0;
  std::uint64_t object_bytes = 0;  // what clients stored
  std::uint64_t stored_bytes = 0;  // what it takes on the medium
  std::uint64_t dead_bytes = 0;    // of that, what compaction can free
  std::uint64_t segments = 0;
  std::uint64_t free_bytes = 0;   // what may still be written
  std::uint64_t uploads = 0;      // open ones
  std::uint64_t quarantined = 0;  // objects with a group that did not verify
  std::uint64_t index_bytes = 0;  // memory of the index
  // What the medium did not give when the index was last made or brought up to date.
  std::uint64_t unreadable_bytes = 0;
};

// What keeps a volume from doing its work; empty text: nothing.
struct VolumeHealth {
  bool readable = true;  // false: look-ups may miss objects (the index is being made anew)
  bool writable = true;
  std::string reason;  // "recovering", "disk full", "disk errors", "unreadable segments"
};

// How far the check of everything stored has come.
struct ScrubProgress {
  bool running = false;
  std::uint64_t bytes_done = 0;  // of this pass, or of the last one
  std::uint64_t bytes_total = 0;
  std::int64_t started_unix_s = 0;   // of the last pass; 0: there was none
  std::int64_t finished_unix_s = 0;  // 0: not yet
  std::uint64_t found = 0;           // damaged objects of this pass
  std::uint64_t passes = 0;          // finished since the start
  std::uint64_t eta_s = 0;           // until this pass is over, at the pace so far
};

// A copy of a volume as of one moment, which can be opened as a volume.
struct Snapshot {
  std::string name;
  std::string path;
  std::uint64_t segments = 0;
  std::uint64_t bytes = 0;
};

// What an operator may ask of a medium that needs care. Any executor.
class Maintenance {
 public:
  Maintenance() = default;
  Maintenance(const Maintenance&) = delete;
  Maintenance& operator=(const Maintenance&) = delete;
  virtual ~Maintenance() = default;

  // Begins soon if it does not run already. Never waits, as progress.
  virtual void request_scrub() = 0;
  virtual void request_compaction() = 0;
  [[nodiscard]] virtual ScrubProgress scrub_progress() const = 0;

  // See volume/snapshots.h.
  virtual platform::Task<base::Result<Snapshot>> make_snapshot(std::string name,
                                                               runtime::Deadline deadline) = 0;
  virtual platform::Task<base::Result<void>> remove_snapshot(std::string name,
                                                             runtime::Deadline deadline) = 0;
  virtual platform::Task<base::Result<std::vector<Snapshot>>> list_snapshots(
      runtime::Deadline deadline) = 0;
};

// Any executor of the host. Errors: NotFound, IntegrityFail (the medium lied), StorageFull,
// StorageBusy, Degraded (recovering), HashMismatch, Malformed, PreconditionFailed; Timeout when a
// question was not answered by its deadline.
class Volume {
 public:
  Volume() = default;
  Volume(const Volume&) = delete;
  Volume& operator=(const Volume&) = delete;
  virtual ~Volume() = default;

  // NotFound when it is not there; IntegrityFail when it is known to be damaged. Cancel-safe.
  virtual platform::Task<base::Result<ObjectHandle>> locate(base::ObjectId id,
                                                            runtime::Deadline deadline) = 0;
  // Verified bytes from `offset` on: at least one and at most `length`, which is at most
  // kPartBytes; it may stop early at the end of a part. An empty object has none to read.
  // IntegrityFail quarantines the object. Cancel-safe.
  virtual platform::Task<base::Result<Piece>> read(ObjectHandle object, std::uint64_t offset,
                                                   std::uint64_t length,
                                                   runtime::Deadline deadline) = 0;

  // Whether the tenant holds the object; not if it is not there. Cancel-safe.
  virtual platform::Task<base::Result<bool>> holds(base::ObjectId id, std::string tenant,
                                                   runtime::Deadline deadline) = 0;
  // The first `most` of those who hold it. NotFound when it is not there. Cancel-safe.
  virtual platform::Task<base::Result<Holders>> holders(base::ObjectId id, std::size_t most,
                                                        runtime::Deadline deadline) = 0;

  // Writes return when the volume has taken them over, having waited for room until the deadline
  // at most; the reply comes when the change is durable, on any executor and without a lock held. A
  // dropped reply means the write may or may not have happened. Cancel-safe in that sense.
  // Adds the tenant's hold if it has none, whether the bytes were there already or not.
  virtual platform::Task<void> put(NewObject object, runtime::Deadline deadline,
                                   Reply<Added> reply) = 0;
  // The object goes with its last hold. NotFound when the tenant has none.
  virtual platform::Task<void> remove(Removal removal, runtime::Deadline deadline,
                                      Reply<Removed> reply) = 0;

  virtual platform::Task<void> begin_upload(Upload upload, runtime::Deadline deadline,
                                            Reply<bool> reply) = 0;
  // The value of the part's subtree. NotFound: no such upload.
  virtual platform::Task<void> put_part(NewPart part, runtime::Deadline deadline,
                                        Reply<b3::ChainingValue> reply) = 0;
  // Publishes the object, held by the upload's tenant, and ends the upload. PreconditionFailed with
  // the first missing part, HashMismatch when it was to have another address; both leave the upload
  // as it is. Until the upload would have expired a repetition has the same answer, but for is_new;
  // NotFound once the object was removed.
  virtual platform::Task<void> commit_upload(UploadId upload, runtime::Deadline deadline,
                                             Reply<Added> reply) = 0;
  virtual platform::Task<void> abort_upload(UploadId upload, runtime::Deadline deadline,
                                            Reply<bool> reply) = 0;
  // Open or committed.
  virtual platform::Task<base::Result<UploadState>> find_upload(UploadId upload,
                                                                runtime::Deadline deadline) = 0;

  // Up to `limit` objects with addresses above `after`, in order of address. Cancel-safe.
  struct Listed {
    base::ObjectId id;
    std::uint64_t length = 0;
  };
  virtual platform::Task<base::Result<std::vector<Listed>>> list(
      std::optional<base::ObjectId> after, std::size_t limit, runtime::Deadline deadline) = 0;

  // What the tenant holds.
  [[nodiscard]] virtual Usage usage(std::string_view tenant) const = 0;
  [[nodiscard]] virtual TenantUsage tenants(std::size_t most) const = 0;
  [[nodiscard]] virtual VolumeStats stats() const = 0;
  [[nodiscard]] virtual VolumeHealth health() const = 0;
  // Null: there is nothing to scrub or compact.
  [[nodiscard]] virtual Maintenance* maintenance() noexcept { return nullptr; }
};

}  // namespace ron::volume
