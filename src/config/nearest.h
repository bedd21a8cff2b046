// The known name a mistyped one was probably meant to be.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace ron::config {

// Insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`, or `limit` +
// 1 when it takes more than `limit`. Memory is three rows, time |a|*|b|, and names whose lengths
// differ by more than `limit` cost nothing.
std::size_t edit_distance(std::string_view a, std::string_view b, std::size_t limit);

// The candidate with the smallest distance (the first of equals), or an empty string when none is
// near: at most a third of the name may differ, and never more than four characters.
std::string nearest(std::string_view name, std::span<const std::string> candidates);

}  // namespace ron::config
