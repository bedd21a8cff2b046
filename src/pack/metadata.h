// Metadata of packs as JSON text. Only its .cc file sees a JSON library.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "pack/pack.h"

namespace ron::pack {

// Whether this is one JSON object (RFC 8259) and nothing else, with any numbers, nested at most
// kMetadataDepth deep: whoever reads it later need not fear it.
bool is_json_object(std::string_view text);
inline constexpr std::size_t kMetadataDepth = 64;

// The table `metadata` of MBTiles: names and values.
using MetadataRows = std::vector<std::pair<std::string, std::string>>;
// Fills in type, bounds, centre and the metadata's JSON from the rows; the zooms are known. The row
// `json` is an object whose members (vector_layers) stand beside the other rows. Malformed with the
// reason.
base::Result<void> apply_metadata(const MetadataRows& rows, Info& info);

// What kind of tile these bytes are, if it shows.
TileType sniff_type(base::ByteView bytes) noexcept;

}  // namespace ron::pack
