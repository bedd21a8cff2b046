// TOML text to a Raw tree. The parser library stays behind this header: it is heavy to compile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

#include "config/value.h"

namespace ron::config {

// Bounds on a file, so that no input can exhaust memory or the stack.
inline constexpr std::size_t kMaxTomlBytes = 1024 * 1024;
inline constexpr std::size_t kMaxKeyParts = 16;      // a.b.c has three
inline constexpr std::size_t kMaxNestedValues = 16;  // lists and inline tables inside each other

struct TomlError {
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  std::string what;
};

// The root table. Members keep the file's order by line; every node knows its line.
std::expected<Raw, TomlError> parse_toml(std::string_view text);

// One TOML value such as `["a", "b"]` or `{ acme = 4 }`, as written in a flag.
std::expected<Raw, TomlError> parse_toml_value(std::string_view text);

}  // namespace ron::config
