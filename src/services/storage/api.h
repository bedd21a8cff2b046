// What others may ask of svc-storage, over HTTP or in the same process.
#pragma once

#include <optional>
#include <string>

#include "base/buffer.h"
#include "base/object_id.h"
#include "base/result.h"
#include "platform/task.h"
#include "runtime/deadline.h"
#include "services/storage/object.h"

namespace ron::storage {

struct Stored {
  base::ObjectId id;
  std::uint64_t length = 0;
  bool is_new = false;
};

// Thread-safe. Errors are those of the contract's table.
class Api {
 public:
  Api() = default;
  Api(const Api&) = delete;
  Api& operator=(const Api&) = delete;
  virtual ~Api() = default;

  // NotFound when it is not there. Never waits: verified objects are in memory.
  virtual base::Result<ObjectPtr> get(const base::ObjectId& id) const = 0;
  // Stores the bytes; with `expected`, only if they have that address (HashMismatch). Busy when the
  // work queue is full, Timeout when the deadline passes, Draining once a stop was asked for.
  // Cancel-safe: an aborted put may or may not have happened, which content addressing makes
  // harmless.
  virtual platform::Task<base::Result<Stored>> put(base::Buffer bytes,
                                                   std::optional<base::ObjectId> expected,
                                                   runtime::Deadline deadline) = 0;
  // Busy if a put would be refused now, counted as such: lets a listener refuse before it reads a
  // body.
  virtual base::Result<void> check_room() = 0;
  virtual base::Result<void> remove(const base::ObjectId& id) = 0;
};

}  // namespace ron::storage
