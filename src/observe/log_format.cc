#include "observe/log_format.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/rfc3339.h"
#include "base/utf8.h"

namespace ron::observe {
namespace {

constexpr std::array<std::string_view, 5> kLevels = {"trace", "debug", "info", "warn", "error"};
// One width, so that the columns of a terminal line up.
constexpr std::array<std::string_view, 5> kLevelColumns = {"TRACE", "DEBUG", "INFO ", "WARN ",
                                                           "ERROR"};
constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD
constexpr std::string_view kCut = "...";

constexpr unsigned byte_at(std::string_view text, std::size_t i) noexcept {
  return static_cast<unsigned char>(text[i]);
}

// The part of `text` that fits `bound`, without cutting a UTF-8 sequence in two.
std::string_view cut(std::string_view text, std::size_t bound) noexcept {
  if (text.size() <= bound) return text;
  std::size_t end = bound - kCut.size();
  for (int i = 0; i < 3 && (byte_at(text, end) & 0xC0U) == 0x80; ++i) --end;
  return text.substr(0, end);
}

void append_unicode_escape(LineBuffer& out, unsigned code) noexcept {
  constexpr std::string_view kHex = "0123456789abcdef";
  const std::array<char, 6> escape = {'\\', 'u', '0', '0', kHex[code >> 4], kHex[code & 15U]};
  out.append(std::string_view(escape.data(), escape.size()));
}

void append_escape(LineBuffer& out, char c) noexcept {
  switch (c) {
    case '"':
      return out.append("\\\"");
    case '\\':
      return out.append("\\\\");
    case '\n':
      return out.append("\\n");
    case '\r':
      return out.append("\\r");
    case '\t':
      return out.append("\\t");
    default:
      return append_unicode_escape(out, static_cast<unsigned char>(c));
  }
}

constexpr std::array<bool, 256> kPlain = [] {
  std::array<bool, 256> plain{};
  for (unsigned c = 0x20; c < 0x7F; ++c) plain[c] = c != '"' && c != '\\';
  return plain;
}();

// Escaped, at most `bound` bytes of it.
void append_escaped(LineBuffer& out, std::string_view text, std::size_t bound) noexcept {
  const std::string_view kept = cut(text, bound);
  std::size_t plain_from = 0;
  std::size_t i = 0;
  while (i < kept.size()) {
    if (kPlain[byte_at(kept, i)]) {
      ++i;
      continue;
    }
    out.append(kept.substr(plain_from, i - plain_from));
    const std::size_t length = base::utf8_length(kept.substr(i));
    if (length == 0) {
      out.append(kReplacement);
    } else if (length == 1) {
      append_escape(out, kept[i]);
    } else if (length == 2 && byte_at(kept, i) == 0xC2 && byte_at(kept, i + 1) < 0xA0) {
      append_unicode_escape(out, byte_at(kept, i + 1));  // C1 controls
    } else {
      out.append(kept.substr(i, length));
    }
    i += std::max<std::size_t>(length, 1);
    plain_from = i;
  }
  out.append(kept.substr(plain_from));
  if (kept.size() != text.size()) out.append(kCut);
}

void append_quoted(LineBuffer& out, std::string_view text, std::size_t bound) noexcept {
  out.append('"');
  append_escaped(out, text, bound);
  out.append('"');
}

void append_time(LineBuffer& out, std::int64_t unix_ms) noexcept {
  const auto text = base::print_rfc3339_ms(unix_ms);
  out.append(std::string_view(text.data(), text.size()));
}

template <class T>
void append_number(LineBuffer& out, T number) noexcept {
  std::array<char, 40> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  out.append(std::string_view(digits.data(), static_cast<std::size_t>(end - digits.data())));
}

void append_real(LineBuffer& out, double number) noexcept {
  if (std::isfinite(number)) return append_number(out, number);
  // JSON has no number for these.
  if (std::isnan(number)) return out.append("\"NaN\"");
  out.append(number > 0 ? "\"Infinity\"" : "\"-Infinity\"");
}

// A bare word in the text format needs no quotes.
bool is_bare(std::string_view text) noexcept {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return kPlain[static_cast<unsigned char>(c)] && c != ' ' && c != '=';
  });
}

void append_value(LineBuffer& out, LogFormat format, const Value& value) noexcept {
  switch (value.kind()) {
    case Value::Kind::kText:
      if (format == LogFormat::kText && value.text().size() <= kLogTextBytes &&
          is_bare(value.text())) {
        return out.append(value.text());
      }
      return append_quoted(out, value.text(), kLogTextBytes);
    case Value::Kind::kSigned:
      return append_number(out, value.signed_number());
    case Value::Kind::kUnsigned:
      return append_number(out, value.unsigned_number());
    case Value::Kind::kReal:
      return append_real(out, value.real());
    case Value::Kind::kBool:
      return out.append(value.boolean() ? "true" : "false");
    case Value::Kind::kRedacted:
      out.append("\"redacted:");
      out.append(value.secret().text());
      return out.append('"');
  }
}

void format_json(LineBuffer& out, const LineHead& head,
                 std::initializer_list<Field> fields) noexcept {
  out.append("{\"time\":\"");
  append_time(out, head.unix_ms);
  out.append("\",\"level\":\"");
  out.append(name(head.level));
  out.append("\",\"service\":");
  append_quoted(out, head.service, kLogServiceBytes);
  out.append(",\"msg\":");
  append_quoted(out, head.message, kLogTextBytes);
  if (!head.corr_id.empty()) {
    out.append(",\"corr_id\":");
    append_quoted(out, head.corr_id, base::Ulid::kTextLength);
  }
  for (const Field& field : fields) {
    if (out.size() >= kLineSoftBytes) {
      out.append(",\"truncated\":true");
      break;
    }
    out.append(",\"");
    out.append(field.key.text());
    out.append("\":");
    append_value(out, LogFormat::kJson, field.value);
  }
  out.append("}\n");
}

void format_text(LineBuffer& out, const LineHead& head,
                 std::initializer_list<Field> fields) noexcept {
  append_time(out, head.unix_ms);
  out.append(' ');
  out.append(kLevelColumns[static_cast<std::size_t>(head.level)]);
  out.append(' ');
  append_escaped(out, head.service, kLogServiceBytes);
  out.append(' ');
  append_escaped(out, head.message, kLogTextBytes);
  for (const Field& field : fields) {
    if (out.size() >= kLineSoftBytes) {
      out.append(" truncated=true");
      break;
    }
    out.append(' ');
    out.append(field.key.text());
    out.append('=');
    append_value(out, LogFormat::kText, field.value);
  }
  if (!head.corr_id.empty()) {
    out.append(" corr_id=");
    append_escaped(out, head.corr_id, base::Ulid::kTextLength);
  }
  out.append('\n');
}

}  // namespace

std::string_view name(Level level) noexcept { return kLevels[static_cast<std::size_t>(level)]; }

std::optional<Level> parse_level(std::string_view text) noexcept {
  const auto found = std::ranges::find(kLevels, text);
  if (found == kLevels.end()) return std::nullopt;
  return static_cast<Level>(found - kLevels.begin());
}

std::optional<LogFormat> parse_log_format(std::string_view text) noexcept {
  if (text == "json") return LogFormat::kJson;
  if (text == "text") return LogFormat::kText;
  return std::nullopt;
}

void format_line(LineBuffer& out, LogFormat format, const LineHead& head,
                 std::initializer_list<Field> fields) noexcept {
  if (format == LogFormat::kJson) {
    format_json(out, head, fields);
  } else {
    format_text(out, head, fields);
  }
}

}  // namespace ron::observe
