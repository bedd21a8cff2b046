#include "http/uri.h"

#include <algorithm>

#include "base/encoding.h"

namespace ron::http {
namespace {

using base::Code;

enum class Part : std::uint8_t { Path, Query };

constexpr bool is_control(unsigned char c) noexcept { return c < 0x20 || c == 0x7f; }

// The byte an escape stands for; `at` points behind the '%'.
Checked<char> decode_escape(std::string_view digits) noexcept {
  const int high = digits.size() < 2 ? -1 : base::hex_digit(digits[0]);
  const int low = digits.size() < 2 ? -1 : base::hex_digit(digits[1]);
  if (high < 0 || low < 0) return malformed("a % is not followed by two hex digits");
  return static_cast<char>(high << 4 | low);
}

Checked<> check_byte(char c, bool escaped, Part part, EncodedSlash slash) noexcept {
  if (is_control(static_cast<unsigned char>(c))) return malformed("control byte in the target");
  if (part == Part::Query) return {};
  if (c == '\\') return malformed("backslash in the path");
  if (c == '/' && escaped && slash == EncodedSlash::Refuse) {
    return malformed("encoded slash in the path");
  }
  return {};
}

// Nothing to decode and nothing to refuse, which is nearly every path. Without branches, so that it
// becomes vector code.
constexpr bool is_plain(std::string_view path) noexcept {
  bool plain = true;
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    plain &= static_cast<bool>((byte > 0x1f) & (byte != 0x7f) & (byte != '%') & (byte != '\\'));
  }
  return plain;
}

Checked<std::string_view> percent_decode(std::string_view raw, std::span<char> scratch, Part part,
                                         EncodedSlash slash) noexcept {
  const bool plain = raw.find_first_of(part == Part::Query ? "%+" : "%") == std::string_view::npos;
  if (!plain && scratch.size() < raw.size()) {
    return refuse(Code::UriTooLong, "the request target is too long");
  }
  std::size_t length = 0;
  for (std::size_t i = 0; i < raw.size(); ++i) {
    const bool escaped = raw[i] == '%';
    char c = raw[i];
    if (escaped) {
      const auto byte = decode_escape(raw.substr(i + 1));
      if (!byte) return std::unexpected(byte.error());
      c = *byte;
      i += 2;
    } else if (c == '+' && part == Part::Query) {
      c = ' ';
    }
    if (const auto fine = check_byte(c, escaped, part, slash); !fine) {
      return std::unexpected(fine.error());
    }
    if (!plain) scratch[length++] = c;
  }
  return plain ? raw : std::string_view(scratch.data(), length);
}

Checked<> check_normal_form(std::string_view path) noexcept {
  std::string_view rest = path.substr(1);
  while (true) {
    const std::size_t slash = rest.find('/');
    const std::string_view segment = rest.substr(0, slash);
    if (segment == "." || segment == "..") return malformed("dot segment in the path");
    if (slash == std::string_view::npos) return {};
    if (segment.empty()) return malformed("empty segment in the path");
    rest.remove_prefix(slash + 1);
  }
}

}  // namespace

Target split_target(std::string_view target) noexcept {
  const std::size_t mark = target.find('?');
  if (mark == std::string_view::npos) return {target, {}};
  return {target.substr(0, mark), target.substr(mark + 1)};
}

Checked<std::string_view> decode_segment(std::string_view raw, std::span<char> scratch,
                                         EncodedSlash slash) noexcept {
  const auto decoded = percent_decode(raw, scratch, Part::Path, slash);
  if (!decoded) return decoded;
  if (*decoded == "." || *decoded == "..") return malformed("dot segment in the path");
  return decoded;
}

Checked<std::string_view> decode_path(std::string_view raw, std::span<char> scratch,
                                      EncodedSlash slash) noexcept {
  if (!raw.starts_with('/')) return malformed("the path does not begin with a slash");
  const Checked<std::string_view> decoded =
      is_plain(raw) ? raw : percent_decode(raw, scratch, Part::Path, slash);
  if (!decoded) return decoded;
  if (const auto fine = check_normal_form(*decoded); !fine) return std::unexpected(fine.error());
  return decoded;
}

Checked<std::string_view> QueryReader::decode(std::string_view raw) noexcept {
  const auto decoded = percent_decode(raw, scratch_, Part::Query, EncodedSlash::Allow);
  if (decoded && decoded->data() == scratch_.data()) {
    scratch_ = scratch_.subspan(decoded->size());
  }
  return decoded;
}

Checked<std::optional<QueryParam>> QueryReader::next() noexcept {
  while (!rest_.empty()) {
    if (++pieces_ > kQueryParams) return malformed("too many query parameters");
    const std::size_t end = std::min(rest_.find('&'), rest_.size());
    const std::string_view piece = rest_.substr(0, end);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    if (piece.empty()) continue;
    const std::size_t equals = std::min(piece.find('='), piece.size());
    const auto name = decode(piece.substr(0, equals));
    if (!name) return std::unexpected(name.error());
    const auto value = decode(piece.substr(std::min(equals + 1, piece.size())));
    if (!value) return std::unexpected(value.error());
    return QueryParam{*name, *value};
  }
  return std::nullopt;
}

Checked<std::optional<std::string_view>> find_param(std::string_view query, std::string_view name,
                                                    std::span<char> scratch) noexcept {
  QueryReader reader(query, scratch);
  std::optional<std::string_view> found;
  while (true) {
    const auto param = reader.next();
    if (!param) return std::unexpected(param.error());
    if (!*param) return found;
    if ((*param)->name != name) continue;
    if (found) return malformed("query parameter given twice");
    found = (*param)->value;
  }
}

}  // namespace ron::http
