#include "services/edge/pack_source.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/limits.h"
#include "http/selection.h"
#include "runtime/deadline.h"
#include "services/kit/handlers.h"
#include "services/kit/representation.h"

namespace ron::edge {
namespace {

using base::fail;
using base::Result;
using platform::Task;

// What a disk has for one piece. A download may last longer than the request's deadline.
constexpr std::chrono::seconds kPieceTimeout{10};
static_assert(PackSource::kPieceBytes % base::limits::kGroupBytes == 0);

// Up to the next multiple of a piece.
std::uint64_t piece_length(std::uint64_t offset, std::uint64_t left) noexcept {
  return std::min(left, PackSource::kPieceBytes - offset % PackSource::kPieceBytes);
}

}  // namespace

PackSource::PackSource(MountPtr mount, std::uint64_t offset, std::uint64_t length,
                       base::Buffer first)
    : mount_(std::move(mount)), offset_(offset), left_(length), piece_(std::move(first)) {}

Task<Result<base::ByteView>> PackSource::next() {
  if (!std::exchange(is_first_, false)) {
    if (left_ == 0) co_return base::ByteView();
    auto piece = co_await mount_->pack->read(offset_, piece_length(offset_, left_),
                                             runtime::Deadline::in(kPieceTimeout));
    if (!piece) co_return fail(std::move(piece.error()));
    piece_ = std::move(*piece);
  }
  offset_ += piece_.size();
  left_ -= piece_.size();
  co_return piece_.view();
}

// The first piece is read before the head is sent, so that what is wrong with it can still be said.
Task<http::Response> send_file(MountPtr mount, http::Request* request) {
  const std::uint64_t length = mount->info().bytes;
  const http::Selection selection = http::select(*request->head, {mount->file_tag, false}, length);
  http::Response response = kit::head_for(*request, selection, length);
  if (!kit::describes_it(selection)) co_return response;
  response.prepared_lines = mount->file_lines;
  response.owner = mount;
  if (!selection.selects() || selection.length == 0) co_return response;
  if (request->head->method == http::Method::Head) {
    response.body = http::SizedBody{nullptr, selection.length};
    co_return response;
  }
  auto first = co_await mount->pack->read(
      selection.offset, piece_length(selection.offset, selection.length), request->deadline);
  if (!first) co_return kit::refuse(*request, mount->public_error(std::move(first.error())));
  response.body = http::SizedBody{std::make_unique<PackSource>(std::move(mount), selection.offset,
                                                               selection.length, std::move(*first)),
                                  selection.length};
  co_return response;
}

}  // namespace ron::edge
