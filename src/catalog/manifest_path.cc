#include "catalog/manifest_path.h"

#include <string>

#include "catalog/segments.h"

namespace ron::catalog {
namespace {

using base::Code;
using base::fail;
using base::Result;

std::unexpected<base::Error> refuse(std::string_view what) {
  return fail(Code::Malformed, std::string(what));
}

// The segment in front and the slashes behind it are taken off.
std::string_view take_segment(std::string_view& rest) noexcept {
  const std::string_view segment = rest.substr(0, rest.find('/'));
  rest.remove_prefix(segment.size());
  rest.remove_prefix(std::min(rest.find_first_not_of('/'), rest.size()));
  return segment;
}

}  // namespace

Result<void> check_path(std::string_view path) {
  if (path.starts_with('/')) return refuse("the path is absolute");
  if (path.size() > kMaxPathBytes) {
    return refuse("the path is longer than " + std::to_string(kMaxPathBytes) + " bytes");
  }
  if (auto sound = check_segments(path, "the path"); !sound) return sound;
  if (count_segments(path) > kMaxPathSegments) {
    return refuse("the path has more than " + std::to_string(kMaxPathSegments) + " segments");
  }
  while (!path.empty()) {
    if (take_segment(path).size() > kMaxSegmentBytes) {
      return refuse("the path has a segment of more than " + std::to_string(kMaxSegmentBytes) +
                    " bytes");
    }
  }
  return {};
}

Result<void> check_link(std::string_view path, std::string_view target) {
  if (target.empty() || target.size() > kMaxLinkBytes) {
    return refuse("the link's target does not have 1 to " + std::to_string(kMaxLinkBytes) +
                  " bytes");
  }
  if (auto plain = check_text(target, "the link's target"); !plain) return plain;
  if (target.starts_with('/')) return refuse("the link leads to an absolute path");
  std::size_t directories = count_segments(path) - 1;
  bool in_front = true;
  while (!target.empty()) {
    const std::string_view segment = take_segment(target);
    if (segment == ".") continue;
    if (segment != "..") {
      in_front = false;
      continue;
    }
    if (!in_front) return refuse("the link's target has '..' behind a name");
    if (directories == 0) return refuse("the link leads out of the tree");
    --directories;
  }
  return {};
}

}  // namespace ron::catalog
