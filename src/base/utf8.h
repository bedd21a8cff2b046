// UTF-8 as far as writing untrusted text needs it.
#pragma once

#include <cstddef>
#include <string_view>

namespace ron::base {

// Length of the well-formed sequence at the front of `text`, which is not empty; 0 when there is
// none (over-long forms, surrogates and values past U+10FFFF are not well-formed).
std::size_t utf8_length(std::string_view text) noexcept;

}  // namespace ron::base
