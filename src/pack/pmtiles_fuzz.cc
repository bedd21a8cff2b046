// Arbitrary bytes as PMTiles: what is accepted leads nowhere but into the file, and its header and
// directories encode to what they were read from.
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>

#include "pack/pmtiles_index.h"
#include "pack/test_memory_source.h"

namespace {

using namespace ron;

void require(bool holds) {
  if (!holds) std::abort();
}

constexpr pack::Limits kLimits{.directory_bytes = 1U << 16,
                               .entries = 1U << 12,
                               .metadata_bytes = 1U << 16,
                               .tile_bytes = 1U << 16};

void check_file(base::ByteView bytes) {
  pack::test::MemorySource source{std::string(base::as_text(bytes))};
  const auto index = pack::PmtilesIndex::load(source, kLimits, {});
  if (!index) {
    require(!index.error().message.empty());
    return;
  }
  const auto again = pack::parse_pmtiles_header(base::as_bytes(pack::encode(index->header())));
  require(again == index->header());
  require(index->entries() <= kLimits.entries && index->info().tiles >= index->entries());
  for (std::uint64_t id = 0; id < 100; ++id) {
    const auto place = index->find(id);
    if (place) require(place->offset + place->length <= bytes.size() && place->length > 0);
  }
}

void check_directory(base::ByteView bytes) {
  const auto entries = pack::parse_directory(bytes, kLimits.entries);
  if (!entries) return;
  const std::string encoded = pack::encode_directory(*entries);
  require(pack::parse_directory(base::as_bytes(encoded), kLimits.entries) == *entries);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const base::ByteView bytes = std::as_bytes(std::span(data, size));
  check_file(bytes);
  check_directory(bytes);
  return 0;
}
