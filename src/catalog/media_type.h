// Media types: what a name or a file of a tree is, and what the name of a file says about it.
#pragma once

#include <cstddef>
#include <string_view>

namespace ron::catalog {

inline constexpr std::string_view kManifestType = "application/vnd.ron.manifest+json";
inline constexpr std::string_view kUnknownType = "application/octet-stream";
inline constexpr std::size_t kMaxMediaTypeBytes = 255;

// `type/subtype`, perhaps with parameters: printable ASCII that may stand in a Content-Type header.
bool is_media_type(std::string_view text) noexcept;

// By the ending of the last segment, in upper or lower case; kUnknownType where that says nothing.
std::string_view media_type_of(std::string_view path) noexcept;

}  // namespace ron::catalog
