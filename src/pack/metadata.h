// Metadata of packs as JSON text. Only its .cc file sees a JSON library.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pack/pack.h"

namespace ron::pack {

// Whether this is one JSON object (RFC 8259) and nothing else, with any numbers, nested at most
// kMetadataDepth deep: whoever reads it later need not fear it.
bool is_json_object(std::string_view text);
inline constexpr std::size_t kMetadataDepth = 64;

}  // namespace ron::pack
