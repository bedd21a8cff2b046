// Core: reading objects.
#include <algorithm>
#include <cstring>
#include <utility>

#include "services/storage/core.h"

namespace ron::storage {

using base::Code;
using base::fail;
using base::Result;
using platform::Task;

ObjectPtr Core::cached(const base::ObjectId& id) const {
  if (memory_ != nullptr) return memory_->store().find(id);
  if (!cache_.enabled()) return nullptr;
  ObjectPtr object = cache_.find(id);
  if (object) cache_hits_.add();
  return object;
}

Task<Result<LocatedObject>> Core::locate(base::ObjectId id, runtime::Deadline deadline) {
  const ObjectCache::Ticket ticket = cache_.ticket(id);
  Result<LocatedObject> at = co_await volumes_.locate(id, deadline);
  if (at) at->ticket = ticket;
  co_return at;
}

bool Core::loads_whole(std::uint64_t length) const {
  return length <= base::limits::kDecodedBytes && cache_.admits(length);
}

std::uint64_t Core::chunk_bytes() const { return chunk_bytes_.load(std::memory_order_relaxed); }

base::Duration Core::piece_timeout() const {
  return base::Duration(piece_timeout_ns_.load(std::memory_order_relaxed));
}

// Nobody's deadline ends a load that others may wait for, too: it is dropped when nobody does.
Task<Result<ObjectPtr>> Core::load(LocatedObject found, runtime::Deadline deadline) {
  cache_misses_.add();
  Loads::Joined joined = loads_.join(found.id());
  if (joined.reply) {
    LoadJob job;
    job.object = std::move(found);
    job.reply = std::move(joined.reply);
    work_.post(std::move(job));
  } else {
    loads_joined_.add();
  }
  auto reply = co_await joined.waiting.wait(deadline);
  Result<ObjectPtr> object = kit::WorkQueue<Job>::answer_of(std::move(reply));
  if (!object && object.error().code == Code::Timeout) read_timeouts_.add();
  co_return object;
}

// A worker that dies takes its job along: the piece is asked for once more, then the read fails.
Task<Result<volume::Piece>> Core::read(LocatedObject found, ReadRequest asked) {
  constexpr int kTries = 2;
  Result<volume::Piece> piece = fail(Code::Canceled, "");
  for (int i = 0; i < kTries; ++i) {
    ReadJob job;
    job.object = found;
    job.offset = asked.offset;
    job.length = asked.length;
    job.deadline = asked.deadline;
    piece = co_await work_.ask(std::move(job), asked.when_full);
    if (piece || piece.error().code != Code::Canceled) break;
  }
  if (!piece && piece.error().code == Code::Timeout) read_timeouts_.add();
  co_return piece;
}

Task<Result<volume::Piece>> Core::read_now(LocatedObject found, std::uint64_t offset,
                                           std::uint64_t length, runtime::Deadline deadline) {
  volume::Volume* const volume = found.volume;
  Result<volume::Piece> piece =
      co_await volume->read(std::move(found.handle), offset, length, deadline);
  if (piece) {
    read_bytes_.add(piece->bytes.size());
    platform::Executor::current()->spend(piece->bytes.size());
  } else if (piece.error().code == Code::IntegrityFail) {
    integrity_fails_.add();
  }
  co_return piece;
}

Task<void> Core::run(ReadJob job) {
  auto piece = co_await read_now(std::move(job.object), job.offset, job.length, job.deadline);
  std::move(*job.reply).send(std::move(piece));
}

Task<Result<ObjectPtr>> Core::load_now(LocatedObject found) {
  const std::uint64_t length = found.length();
  base::Buffer whole(length);
  for (std::uint64_t offset = 0; offset < length;) {
    if (runtime::turn_is_over()) co_await platform::Yield();
    const std::uint64_t wanted = std::min(length - offset, volume::kPartBytes);
    const auto soon = runtime::Deadline::in(piece_timeout());
    const Result<volume::Piece> piece = co_await read_now(found, offset, wanted, soon);
    if (!piece) co_return fail(piece.error());
    std::memcpy(whole.data() + offset, piece->bytes.data(), piece->bytes.size());
    offset += piece->bytes.size();
  }
  auto object = std::make_shared<const Object>(found.id(), std::move(whole), host_.send_arena);
  cache_.insert(object, found.ticket);
  co_return object;
}

// Who missed it in memory just before the last load ended finds it there now.
Task<void> Core::run(LoadJob job) {
  ObjectPtr object = cache_.find(job.object.id());
  if (object) {
    std::move(*job.reply).send(std::move(object));
    co_return;
  }
  auto loaded = co_await load_now(std::move(job.object));
  std::move(*job.reply).send(std::move(loaded));
}

}  // namespace ron::storage
