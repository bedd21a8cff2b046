// UTF-8 as far as reading and writing untrusted text needs it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ron::base {

// Length of the well-formed sequence at the front of `text`, which is not empty; 0 when there is
// none (over-long forms, surrogates and values past U+10FFFF are not well-formed).
std::size_t utf8_length(std::string_view text) noexcept;

// True when `text` consists of well-formed sequences only.
[[nodiscard]] bool is_utf8(std::string_view text) noexcept;

// Appends the sequence of a code point, which is not a surrogate and at most U+10FFFF.
void append_utf8(std::string& out, char32_t code_point);

}  // namespace ron::base
