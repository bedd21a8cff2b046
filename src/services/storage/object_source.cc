#include "services/storage/object_source.h"

#include <algorithm>
#include <utility>

namespace ron::storage {

std::uint64_t piece_length(std::uint64_t offset, std::uint64_t left, std::uint64_t chunk) noexcept {
  return left <= chunk ? left : chunk - offset % chunk;
}

ObjectSource::ObjectSource(Api& api, Stretch stretch, volume::Piece first)
    : api_(api), left_(std::move(stretch)), piece_(std::move(first)) {}

platform::Task<base::Result<base::ByteView>> ObjectSource::next() {
  if (!std::exchange(first_, false)) {
    piece_ = {};
    if (left_.length == 0) co_return base::ByteView();
    ReadWish wish;
    wish.offset = left_.offset;
    wish.length = piece_length(left_.offset, left_.length, api_.chunk_bytes());
    wish.deadline = runtime::Deadline::in(api_.piece_timeout());
    wish.when_full = kit::WhenFull::Wait;
    base::Result<volume::Piece> piece = co_await api_.read(left_.found, wish);
    if (!piece) co_return base::fail(std::move(piece.error()));
    piece_ = std::move(*piece);
  }
  left_.offset += piece_.bytes.size();
  left_.length -= piece_.bytes.size();
  co_return piece_.bytes;
}

void set_body(http::Response& response, Api& api, Stretch stretch, volume::Piece first) {
  if (first.bytes.size() != stretch.length) {
    const std::uint64_t length = stretch.length;
    response.body = http::SizedBody{
        std::make_unique<ObjectSource>(api, std::move(stretch), std::move(first)), length};
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
