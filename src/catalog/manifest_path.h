// Where the entries of a tree may stand, and where its links may lead.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/result.h"

namespace ron::catalog {

inline constexpr std::size_t kMaxPathBytes = 4096;
inline constexpr std::size_t kMaxPathSegments = 255;
inline constexpr std::size_t kMaxSegmentBytes = 255;  // NAME_MAX of every file system in use
inline constexpr std::size_t kMaxLinkBytes = 4095;    // PATH_MAX without its end

// Nothing for a relative path as check_segments() has it, within the bounds above. Malformed says
// what is wrong.
base::Result<void> check_path(std::string_view path);

// Nothing if the link at `path`, which has passed check_path(), never leads out of its tree.
// The target is relative, `..` stands only in its front, and there no more often than `path` has
// directories. So a link goes up from where it stands, through directories that are no links
// (nothing stands below a link), and then only down; a further link on its way does the same.
base::Result<void> check_link(std::string_view path, std::string_view target);

}  // namespace ron::catalog
