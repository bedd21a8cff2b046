#include "services/edge/origin.h"

#include <cstring>
#include <utility>

#include "runtime/waiting.h"
#include "runtime/within.h"

namespace ron::edge {
namespace {

using base::Code;
using base::fail;
using base::Result;
using platform::Task;
using runtime::Deadline;
using storage_api::ObjectStream;

// What an object's stream brings, which said how much that is.
Task<Result<base::Buffer>> read_stream(ObjectStream stream) {
  base::Buffer bytes(stream.object_length);
  std::size_t filled = 0;
  for (;;) {
    const auto piece = co_await stream.body->next();
    if (!piece) co_return fail(piece.error());
    if (piece->empty() && filled == bytes.size()) co_return bytes;
    if (piece->empty() || piece->size() > bytes.size() - filled) break;
    std::memcpy(bytes.span().data() + filled, piece->data(), piece->size());
    filled += piece->size();
  }
  co_return fail(Code::IntegrityFail, "an object's bytes are not as many as it has");
}

}  // namespace

Task<Result<index_api::NamedTarget>> LocalOrigin::look_up(catalog::NameRef name,
                                                          Deadline deadline) {
  return runtime::within(deadline, index_.look_up(std::move(name), deadline));
}

Task<Result<std::uint64_t>> LocalOrigin::stat(base::ObjectId address, Deadline deadline) {
  const auto found = co_await storage_.stat(address, deadline);
  if (!found) co_return fail(found.error());
  co_return found->length;
}

Task<Result<ObjectStream>> LocalOrigin::open(base::ObjectId address,
                                             std::optional<storage_api::Range> range,
                                             Deadline deadline) {
  return storage_.open(address, range, deadline);
}

Task<void> LocalOrigin::dial(std::size_t, runtime::Shutdown shutdown) {
  co_await runtime::wait_stop(std::move(shutdown));
}

Task<Result<base::Buffer>> read_object(Origin* origin, base::ObjectId address, std::uint64_t length,
                                       Deadline deadline) {
  auto stream = co_await origin->open(address, std::nullopt, deadline);
  if (!stream) co_return fail(std::move(stream.error()));
  if (stream->object_length != length) {
    co_return fail(Code::IntegrityFail, "the object is not as long as its site says");
  }
  co_return co_await read_stream(std::move(*stream));
}

Task<Result<base::Buffer>> read_at_most(Origin* origin, base::ObjectId address, std::uint64_t most,
                                        Deadline deadline) {
  auto stream = co_await origin->open(address, std::nullopt, deadline);
  if (!stream) co_return fail(std::move(stream.error()));
  if (stream->object_length > most) {
    co_return fail(base::Error(Code::BodyCap, "the object is too large")
                       .with("length", std::to_string(stream->object_length))
                       .with("limit", std::to_string(most)));
  }
  co_return co_await read_stream(std::move(*stream));
}

}  // namespace ron::edge
