// Views of bytes, and the few conversions between bytes and text.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace ron::base {

using ByteView = std::span<const std::byte>;
using MutableBytes = std::span<std::byte>;

inline ByteView as_bytes(std::string_view text) noexcept {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}
inline std::string_view as_text(ByteView bytes) noexcept {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace ron::base
