// Fetching an object piece by piece: several requests at once, hashed as subtrees while others are
// under way, handed over in order. What has been handed over is proven only when download()
// succeeds; an object of a single piece is proven before.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "b3/tree.h"
#include "base/buffer.h"
#include "base/object_id.h"
#include "base/result.h"
#include "cli/session.h"
#include "platform/disk.h"
#include "platform/task.h"

namespace ron::cli {

inline constexpr std::uint64_t kPieceBytes = 4 * base::kMiB;  // a subtree: an aligned power of two

// Where the bytes go, in order and one call at a time. The memory comes back for the next piece.
class PieceSink {
 public:
  PieceSink() = default;
  PieceSink(const PieceSink&) = delete;
  PieceSink& operator=(const PieceSink&) = delete;
  virtual ~PieceSink() = default;

  virtual platform::Task<base::Result<base::Buffer>> take(std::uint64_t offset,
                                                          base::Buffer bytes) = 0;
};

// For whoever only wants to know whether the bytes are right.
class NoSink final : public PieceSink {
 public:
  platform::Task<base::Result<base::Buffer>> take(std::uint64_t, base::Buffer bytes) override {
    co_return std::move(bytes);
  }
};

// For what is small enough to be kept in memory. BodyCap beyond `cap_bytes`.
class MemorySink final : public PieceSink {
 public:
  explicit MemorySink(std::uint64_t cap_bytes) noexcept : cap_bytes_(cap_bytes) {}

  platform::Task<base::Result<base::Buffer>> take(std::uint64_t offset,
                                                  base::Buffer bytes) override;
  [[nodiscard]] const std::string& text() const noexcept { return text_; }
  [[nodiscard]] std::string release() noexcept { return std::move(text_); }

 private:
  const std::uint64_t cap_bytes_;
  std::string text_;
};

struct Download {
  base::ObjectId id;
  PieceSink* sink = nullptr;
  std::size_t window = 1;  // pieces in flight; memory is one more of them
  // The first pieces are there already: they are read from here, hashed with the others and not
  // handed over again.
  platform::File* have = nullptr;
  std::uint64_t have_pieces = 0;
};

// The object's length. IntegrityFail if the bytes are not those of the address,
// RangeNotSatisfiable if it ends before the pieces that are there. Cancel-safe.
platform::Task<base::Result<std::uint64_t>> download(Session* session, Download what);

// Only the bytes from `first` to `last`, both included, or to the object's end: nothing proves
// them. How many there were. Cancel-safe.
struct RangeDownload {
  base::ObjectId id;
  PieceSink* sink = nullptr;
  std::size_t window = 1;
  std::uint64_t first = 0;
  std::optional<std::uint64_t> last;
};
platform::Task<base::Result<std::uint64_t>> download_range(Session* session, RangeDownload what);

// Memory of that size: the spare one, or new.
base::Buffer sized(base::Buffer spare, std::size_t bytes);

// A piece and the value of its subtree.
struct HashedPiece {
  base::Buffer bytes;
  b3::ChainingValue value;
};
// Hashes a piece of an object of several, on the blocking pool. Cancel-safe.
platform::Task<base::Result<HashedPiece>> hash_piece(Session* session, base::Buffer bytes,
                                                     std::uint64_t offset);

}  // namespace ron::cli
