// ObjectSource: the bytes of an object on a volume as a response body, one verified piece at a
// time.
#pragma once

#include <cstdint>
#include <memory>

#include "http/response.h"
#include "services/storage/object_store.h"

namespace ron::storage {

// Bytes of an object that was located.
struct ObjectRange {
  LocatedObject object;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
};

// The piece a read at `offset` asks for: up to the next multiple of `chunk`, so that no group is
// verified twice; all that is left if that is no more than a chunk, wherever it lies.
std::uint64_t piece_length(std::uint64_t offset, std::uint64_t left, std::uint64_t chunk) noexcept;

// Lives with its response, on the connection's core. Holds one piece. The first piece was read
// before the head was sent; later ones wait for room in the queue, each for as long as a read may
// take, so that a download may last longer than the request's deadline. Dropping it abandons the
// piece that is being read.
class ObjectSource final : public http::BodySource {
 public:
  ObjectSource(ObjectStore& store, ObjectRange range, volume::Piece first);

  // Cancel-safe.
  platform::Task<base::Result<base::ByteView>> next() override;

 private:
  ObjectStore& store_;
  ObjectRange left_;
  volume::Piece piece_;
  bool first_ = true;
};

// Bytes that were asked for, ready to be sent: all of them in memory, or the first with the rest to
// come.
struct OpenedRange {
  ObjectPtr cached;  // if it is set, nothing else is
  ObjectRange range;
  volume::Piece first;
};

// An object of which everything is wanted is loaded into memory if it may be; of any other only
// what is wanted is read. The range is not empty. Errors as of ObjectStore::load and
// ObjectStore::read. Cancel-safe.
platform::Task<base::Result<OpenedRange>> open_range(ObjectStore* store, ObjectRange range,
                                                     runtime::Deadline deadline);

// What is not cached as a response's body: the first piece itself if it is all of it, else a source
// that begins with it.
void set_body(http::Response& response, ObjectStore& store, OpenedRange opened);

}  // namespace ron::storage
