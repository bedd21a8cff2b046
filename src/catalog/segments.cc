#include "catalog/segments.h"

#include <algorithm>

#include "base/utf8.h"

namespace ron::catalog {
namespace {

using base::Code;
using base::fail;

bool is_control(std::string_view sequence) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(sequence[i]); };
  if (sequence.size() == 1) return byte(0) < 0x20 || byte(0) == 0x7F;
  return sequence.size() == 2 && byte(0) == 0xC2 && byte(1) < 0xA0;  // U+0080 to U+009F
}

}  // namespace

base::Result<void> check_text(std::string_view text, std::string_view what) {
  while (!text.empty()) {
    const std::size_t length = base::utf8_length(text);
    if (length == 0) return fail(Code::Malformed, std::string(what) + " is not UTF-8");
    if (is_control(text.substr(0, length))) {
      return fail(Code::Malformed, std::string(what) + " has a control character");
    }
    text.remove_prefix(length);
  }
  return {};
}

base::Result<void> check_segments(std::string_view text, std::string_view what) {
  if (auto plain = check_text(text, what); !plain) return plain;
  while (true) {
    const std::size_t slash = text.find('/');
    const std::string_view segment = text.substr(0, slash);
    if (segment.empty()) {
      return fail(Code::Malformed, std::string(what) + " has an empty segment");
    }
    if (segment == "." || segment == "..") {
      return fail(Code::Malformed,
                  std::string(what) + " has the segment '" + std::string(segment) + "'");
    }
    if (slash == std::string_view::npos) return {};
    text.remove_prefix(slash + 1);
  }
}

std::size_t count_segments(std::string_view text) noexcept {
  return static_cast<std::size_t>(std::ranges::count(text, '/')) + 1;
}

std::string_view last_segment(std::string_view text) noexcept {
  return text.substr(text.rfind('/') + 1);  // npos + 1 is 0
}

}  // namespace ron::catalog
