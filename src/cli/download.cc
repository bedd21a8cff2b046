#include "cli/download.h"

#include <algorithm>
#include <utility>

#include "b3/hash.h"
#include "cli/in_order.h"

namespace ron::cli {
namespace {

using base::Code;
using base::fail;
using base::Result;
using platform::Task;

base::Error wrong_bytes(const base::ObjectId& actual) {
  return {Code::IntegrityFail,
          "the bytes that came are not those of the address but of " + actual.text()};
}

Task<Result<HashedPiece>> fetch_piece(Session* session, base::ObjectId id, std::uint64_t offset,
                                      std::uint64_t object_bytes, base::Buffer spare) {
  auto piece = co_await session->objects().get_piece(id, offset, kPieceBytes, std::move(spare));
  if (!piece) co_return fail(std::move(piece.error()));
  if (piece->object_bytes != object_bytes) {
    co_return fail(Code::IntegrityFail, "the object's length changed between two answers");
  }
  session->progress().add_bytes(piece->bytes.size());
  co_return co_await hash_piece(session, std::move(piece->bytes), offset);
}

Task<Result<HashedPiece>> read_piece(Session* session, platform::File* file, std::uint64_t offset,
                                     base::Buffer spare) {
  base::Buffer memory = sized(std::move(spare), kPieceBytes);
  auto bytes = co_await file->read_at(offset, std::move(memory));
  if (!bytes) co_return fail(std::move(bytes.error()));
  if (bytes->size() != kPieceBytes) {
    co_return fail(Code::RangeNotSatisfiable, "the file is shorter than it was");
  }
  session->progress().skip_bytes(bytes->size());
  co_return co_await hash_piece(session, std::move(*bytes), offset);
}

Task<Result<HashedPiece>> already_fetched(Session* session, base::Buffer bytes,
                                          std::uint64_t offset) {
  return hash_piece(session, std::move(bytes), offset);
}

// All pieces of an object that has several. `first` is the first one that is not there yet.
Task<Result<base::ObjectId>> compose(Session* session, const Download* what, Piece first) {
  const std::uint64_t object_bytes = first.object_bytes;
  auto composer = b3::RootComposer::create(object_bytes, kPieceBytes);
  if (!composer) co_return fail(std::move(composer.error()));
  InOrder<Result<HashedPiece>> window(session->tasks(), what->window);
  base::Buffer spare;  // of the piece that was handed over last: each that ends lets one begin
  std::uint64_t started = 0;
  for (std::uint64_t at = 0; at < composer->expected(); ++at) {
    for (; started < composer->expected() && !window.full(); ++started) {
      const std::uint64_t offset = started * kPieceBytes;
      if (started < what->have_pieces) {
        window.start(read_piece(session, what->have, offset, std::exchange(spare, {})));
      } else if (started == what->have_pieces) {
        window.start(already_fetched(session, std::move(first.bytes), offset));
      } else {
        window.start(
            fetch_piece(session, what->id, offset, object_bytes, std::exchange(spare, {})));
      }
    }
    auto piece = co_await window.next();
    if (!piece) co_return fail(std::move(piece.error()));
    const Result<void> appended = composer->append(piece->value);
    if (!appended) co_return fail(appended.error());
    spare = std::move(piece->bytes);
    if (at < what->have_pieces) continue;
    auto taken = co_await what->sink->take(at * kPieceBytes, std::move(spare));
    if (!taken) co_return fail(std::move(taken.error()));
    spare = std::move(*taken);
  }
  co_return composer->finish();
}

}  // namespace

Task<Result<base::Buffer>> MemorySink::take(std::uint64_t, base::Buffer bytes) {
  if (bytes.size() > cap_bytes_ - text_.size()) {
    co_return fail(Code::BodyCap, "the object is larger than " + human_bytes(cap_bytes_));
  }
  text_ += base::as_text(bytes.view());
  co_return std::move(bytes);
}

base::Buffer sized(base::Buffer spare, std::size_t bytes) {
  if (spare.capacity() < bytes) return base::Buffer(bytes);
  spare.resize(bytes);
  return spare;
}

Task<Result<HashedPiece>> hash_piece(Session* session, base::Buffer bytes, std::uint64_t offset) {
  auto hashed = co_await session->off_loop(
      [piece = std::move(bytes), offset]() mutable -> Result<HashedPiece> {
        const b3::ChainingValue value = b3::subtree(piece.view(), offset / b3::kChunkBytes);
        return HashedPiece{std::move(piece), value};
      });
  co_return std::move(hashed);
}

Task<Result<std::uint64_t>> download(Session* session, Download what) {
  auto first =
      co_await session->objects().get_piece(what.id, what.have_pieces * kPieceBytes, kPieceBytes);
  if (!first) co_return fail(std::move(first.error()));
  const std::uint64_t object_bytes = first->object_bytes;
  session->progress().expect_bytes(object_bytes);
  session->progress().add_bytes(first->bytes.size());
  if (object_bytes > kPieceBytes) {
    const auto root = co_await compose(session, &what, std::move(*first));
    if (!root) co_return fail(root.error());
    if (*root != what.id) co_return fail(wrong_bytes(*root));
    co_return object_bytes;
  }
  const base::ObjectId actual = b3::hash(first->bytes.view());
  if (actual != what.id) co_return fail(wrong_bytes(actual));
  const auto taken = co_await what.sink->take(0, std::move(first->bytes));
  if (!taken) co_return fail(taken.error());
  co_return object_bytes;
}

Task<Result<std::uint64_t>> download_range(Session* session, RangeDownload what) {
  constexpr std::uint64_t kNoEnd = UINT64_MAX;
  std::uint64_t end = what.last && *what.last < kNoEnd ? *what.last + 1 : kNoEnd;
  std::uint64_t next = what.first;
  std::uint64_t written = 0;
  InOrder<Result<Piece>> window(session->tasks(), what.window);
  bool length_known = false;
  while (next < end || !window.empty()) {
    // The first answer tells where the object ends; before it nothing more is asked for.
    while (next < end && !window.full() && (length_known || window.empty())) {
      const std::uint64_t bytes = std::min(kPieceBytes, end - next);
      window.start(session->objects().get_piece(what.id, next, bytes));
      next += bytes;
    }
    auto piece = co_await window.next();
    if (!piece) co_return fail(std::move(piece.error()));
    if (!std::exchange(length_known, true)) {
      end = std::min(end, piece->object_bytes);
      session->progress().expect_bytes(end - std::min(end, what.first));
    }
    const std::uint64_t bytes = piece->bytes.size();
    session->progress().add_bytes(bytes);
    const auto taken = co_await what.sink->take(written, std::move(piece->bytes));
    if (!taken) co_return fail(taken.error());
    written += bytes;
  }
  co_return written;
}

}  // namespace ron::cli
