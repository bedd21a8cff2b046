#include "services/storage/object_source.h"

#include <algorithm>
#include <utility>

namespace ron::storage {

std::uint64_t piece_length(std::uint64_t offset, std::uint64_t left, std::uint64_t chunk) noexcept {
  return left <= chunk ? left : chunk - offset % chunk;
}

ObjectSource::ObjectSource(ObjectStore& store, ObjectRange range, volume::Piece first)
    : store_(store), left_(std::move(range)), piece_(std::move(first)) {}

platform::Task<base::Result<base::ByteView>> ObjectSource::next() {
  if (!std::exchange(first_, false)) {
    piece_ = {};
    if (left_.length == 0) co_return base::ByteView();
    ReadRequest asked;
    asked.offset = left_.offset;
    asked.length = piece_length(left_.offset, left_.length, store_.chunk_bytes());
    asked.deadline = runtime::Deadline::in(store_.piece_timeout());
    asked.when_full = kit::WhenFull::Wait;
    base::Result<volume::Piece> piece = co_await store_.read(left_.object, asked);
    if (!piece) co_return base::fail(std::move(piece.error()));
    piece_ = std::move(*piece);
  }
  left_.offset += piece_.bytes.size();
  left_.length -= piece_.bytes.size();
  co_return piece_.bytes;
}

platform::Task<base::Result<OpenedRange>> open_range(ObjectStore* store, ObjectRange range,
                                                     runtime::Deadline deadline) {
  OpenedRange opened;
  const std::uint64_t length = range.object.length();
  if (range.length == length && store->loads_whole(length)) {
    base::Result<ObjectPtr> object = co_await store->load(std::move(range.object), deadline);
    if (!object) co_return base::fail(std::move(object.error()));
    opened.cached = std::move(*object);
    co_return opened;
  }
  ReadRequest asked;
  asked.offset = range.offset;
  asked.length = piece_length(range.offset, range.length, store->chunk_bytes());
  asked.deadline = deadline;
  base::Result<volume::Piece> first = co_await store->read(range.object, asked);
  if (!first) co_return base::fail(std::move(first.error()));
  opened.range = std::move(range);
  opened.first = std::move(*first);
  co_return opened;
}

void set_body(http::Response& response, ObjectStore& store, OpenedRange opened) {
  volume::Piece& first = opened.first;
  if (first.bytes.size() != opened.range.length) {
    const std::uint64_t length = opened.range.length;
    response.body = http::SizedBody{
        std::make_unique<ObjectSource>(store, std::move(opened.range), std::move(first)), length};
    return;
  }
  response.body = http::SharedBody{first.bytes};
  if (first.owner && first.buffer.size() == 0) {
    response.owner = std::move(first.owner);
  } else {
    response.owner = std::make_shared<const volume::Piece>(std::move(first));
  }
}

}  // namespace ron::storage
