// Text of strangers for people to read.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ron::cli {

// At most `limit` bytes of `text`, which is UTF-8 and stays so: only what makes a terminal do
// things or show text in another order than it has, and what is no UTF-8, is written as \xNN.
std::string for_terminal(std::string_view text, std::size_t limit);

}  // namespace ron::cli
