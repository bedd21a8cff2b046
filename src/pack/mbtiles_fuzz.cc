// Arbitrary bytes as MBTiles: nothing worse than a refusal, whatever the database says, and what is
// accepted hands out its tiles within the limits.
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>

#include "pack/mbtiles_database.h"
#include "pack/test_memory_source.h"
#include "pack/tile_id.h"

namespace {

using namespace ron;

void require(bool holds) {
  if (!holds) std::abort();
}

constexpr pack::Limits kLimits{
    .entries = 1U << 12, .metadata_bytes = 1U << 16, .tile_bytes = 1U << 16};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const base::ByteView bytes = std::as_bytes(std::span(data, size));
  const auto source = std::make_shared<pack::test::MemorySource>(std::string(base::as_text(bytes)));
  const auto database = pack::MbtilesDatabase::open(source, kLimits, {});
  if (!database) {
    require(!database.error().message.empty());
    return 0;
  }
  const pack::Info& info = (*database)->info();
  require(info.tiles > 0 && info.tiles <= kLimits.entries && info.min_zoom <= info.max_zoom);
  const auto ids = (*database)->tile_ids({});
  if (!ids) return 0;
  require(ids->size() <= info.tiles);
  for (std::size_t i = 0; i < ids->size() && i < 16; ++i) {
    const auto tile = (*database)->find(*pack::tile_at((*ids)[i]), {});
    if (tile && *tile) require((*tile)->bytes.size() <= kLimits.tile_bytes);
  }
  return 0;
}
