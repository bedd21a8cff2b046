#include "pack/pmtiles_pack.h"

#include <algorithm>

#include "pack/compression.h"
#include "pack/tile_id.h"

namespace ron::pack {

using base::Result;
using platform::Task;

PmtilesPack::PmtilesPack(std::shared_ptr<VerifiedFile> file, PmtilesIndex index)
    : file_(std::move(file)), index_(std::move(index)), info_(index_.info()) {
  info_.hash = file_->hash();
  info_.memory_bytes = file_->memory_bytes() + index_.memory_bytes() + info_.metadata.capacity();
}

Task<Result<std::optional<Tile>>> PmtilesPack::tile(Zxy at, runtime::Deadline deadline) {
  const auto id = tile_id(at);
  const auto place = id ? index_.find(*id) : std::nullopt;
  if (!place) co_return std::nullopt;
  auto bytes = co_await file_->read(place->offset, place->length, deadline);
  if (!bytes) co_return base::fail(std::move(bytes.error()));
  const Compression compression = info_.compression != Compression::Unknown
                                      ? info_.compression
                                      : sniff_compression(bytes->view());
  co_return Tile{std::move(*bytes), compression};
}

Task<Result<base::Buffer>> PmtilesPack::read(std::uint64_t offset, std::uint64_t length,
                                             runtime::Deadline deadline) {
  return read_some(file_, offset, length, deadline);
}

}  // namespace ron::pack
