// What names and the paths of trees have in common: segments with slashes between them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace ron::catalog {

// Malformed says which rule is broken; `what` is the subject of that sentence, such as "the name".
//
// Nothing for UTF-8 without control characters (C0, DEL and C1).
base::Result<void> check_text(std::string_view text, std::string_view what);
// Nothing for such a text that consists of segments with single slashes between them, none of them
// empty, `.` or `..`.
base::Result<void> check_segments(std::string_view text, std::string_view what);

std::size_t count_segments(std::string_view text) noexcept;

// The segment after the last slash.
std::string_view last_segment(std::string_view text) noexcept;

}  // namespace ron::catalog
