// Request targets: path and query, percent-decoding and the one normal form of a path.
//
// A path that could mean two things to two readers is refused (400) rather than rewritten: `.` and
// `..` segments, also when encoded, empty segments, encoded or plain backslashes, encoded slashes
// unless the caller asks for them, control bytes, escapes that are not two hex digits. Decoding
// happens once: `%252e` is the text `%2e`.
//
// Pure functions; results are views of the input or of the caller's scratch and live as long as
// those. A scratch of kTargetBytes always suffices.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/limits.h"
#include "http/refusal.h"

namespace ron::http {

using UriScratch = std::array<char, base::limits::kTargetBytes>;

struct Target {
  std::string_view path;
  std::string_view query;  // without the '?'
};

// Cuts at the first '?'; decodes nothing.
Target split_target(std::string_view target) noexcept;

// Whether %2F may stand for a slash that is data.
enum class EncodedSlash : std::uint8_t { Refuse, Allow };

// Decodes one path segment. Without escapes the result is `raw` itself.
Checked<std::string_view> decode_segment(std::string_view raw, std::span<char> scratch,
                                         EncodedSlash slash = EncodedSlash::Refuse) noexcept;

// Decodes a whole path that begins with '/' and checks its normal form; one trailing slash is kept.
// With EncodedSlash::Allow the form is checked on the decoded text, so no slash trick gets through.
Checked<std::string_view> decode_path(std::string_view raw, std::span<char> scratch,
                                      EncodedSlash slash = EncodedSlash::Refuse) noexcept;

struct QueryParam {
  std::string_view name;
  std::string_view value;  // empty when there is no '='
};

// Walks `a=1&b=2`, decoding names and values; '+' is a space, as browsers and forms write it.
// Empty pieces are skipped; more than kQueryParams pieces are refused. Views stay valid for the
// whole walk.
class QueryReader {
 public:
  static constexpr std::size_t kQueryParams = 64;

  QueryReader(std::string_view query, std::span<char> scratch) noexcept
      : rest_(query), scratch_(scratch) {}

  // Nothing at the end.
  Checked<std::optional<QueryParam>> next() noexcept;

 private:
  Checked<std::string_view> decode(std::string_view raw) noexcept;

  std::string_view rest_;
  std::span<char> scratch_;
  std::size_t pieces_ = 0;
};

// The value of one parameter. Given twice it is refused: which one counts would be a guess.
Checked<std::optional<std::string_view>> find_param(std::string_view query, std::string_view name,
                                                    std::span<char> scratch) noexcept;

}  // namespace ron::http
