#include "http/fields.h"

#include "http/field_list.h"

namespace ron::http {
namespace {

using base::Code;

// A second line of one of these is refused: recipients disagree about which one counts.
constexpr std::uint32_t bit(KnownField field) noexcept {
  return 1u << static_cast<unsigned>(field);
}
constexpr std::uint32_t kSingletons = bit(KnownField::Host) | bit(KnownField::ContentLength) |
                                      bit(KnownField::Range) | bit(KnownField::IfRange) |
                                      bit(KnownField::Authorization) | bit(KnownField::ContentType);

// `name` is a token of exactly the literal's length. Among token characters only a letter folds
// onto a letter and only '-' onto '-', so setting the case bit compares exactly.
template <std::size_t N>
bool named(const char* name, const char (&literal)[N]) noexcept {
  unsigned difference = 0;
  for (std::size_t i = 0; i + 1 < N; ++i) {
    difference |= static_cast<unsigned char>((name[i] | 0x20) ^ literal[i]);
  }
  return difference == 0;
}

}  // namespace

KnownField known_field(std::string_view name) noexcept {
  using enum KnownField;
  const char* const text = name.data();
  switch (name.size()) {
    case 4:
      return named(text, "host") ? Host : Unknown;
    case 5:
      return named(text, "range") ? Range : Unknown;
    case 6:
      if (named(text, "accept")) return Accept;
      return named(text, "expect") ? Expect : Unknown;
    case 8:
      if (named(text, "if-range")) return IfRange;
      if (named(text, "deadline")) return Deadline;
      return named(text, "if-match") ? IfMatch : Unknown;
    case 9:
      return named(text, "x-corr-id") ? CorrelationId : Unknown;
    case 10:
      return named(text, "connection") ? Connection : Unknown;
    case 12:
      return named(text, "content-type") ? ContentType : Unknown;
    case 13:
      if (named(text, "if-none-match")) return IfNoneMatch;
      return named(text, "authorization") ? Authorization : Unknown;
    case 14:
      return named(text, "content-length") ? ContentLength : Unknown;
    case 15:
      if (named(text, "request-timeout")) return RequestTimeout;
      return named(text, "accept-encoding") ? AcceptEncoding : Unknown;
    case 16:
      return named(text, "content-encoding") ? ContentEncoding : Unknown;
    case 17:
      return named(text, "transfer-encoding") ? TransferEncoding : Unknown;
    default:
      return Unknown;
  }
}

std::optional<std::string_view> FieldTable::find(std::string_view name) const noexcept {
  for (const Field& field : fields()) {
    if (iequals(field.name, name)) return field.value;
  }
  return std::nullopt;
}

Checked<> FieldTable::add_line(std::string_view line) noexcept {
  const std::size_t name_length = span_of(line, kTchar);
  if (name_length == line.size()) return malformed("field line without a colon");
  const char stop = line[name_length];
  if (stop != ':') {
    if (name_length == 0 && (stop == ' ' || stop == '\t')) return malformed("folded field line");
    if (stop == ' ' || stop == '\t') return malformed("space before the colon of a field");
    return malformed("field name is not a token");
  }
  if (name_length == 0) return malformed("field without a name");
  if (count_ == fields_.size()) {
    return refuse(Code::HeadTooLarge, "too many fields in the head");
  }
  const std::string_view name = line.substr(0, name_length);
  Field& field = fields_[count_++];
  field.name = name;
  field.value = trim_ows(line.substr(name_length + 1));

  const KnownField known = known_field(name);
  if (known == KnownField::Unknown) return {};
  std::uint8_t& slot = slots_[index(known)];
  if (slot == 0) {
    slot = static_cast<std::uint8_t>(count_);
    return {};
  }
  if ((kSingletons & bit(known)) != 0) return malformed("field given twice");
  repeated_ |= bit(known);
  return {};
}

Checked<> MessageHead::digest(std::string_view buffer, const HeadScanner& scanner,
                              std::size_t first, std::size_t last) noexcept {
  clear();
  for (std::size_t i = first; i < last; ++i) {
    if (auto added = add_line(scanner.line(buffer, i)); !added) return added;
  }
  if (auto connection = digest_connection(); !connection) return connection;
  if (auto length = digest_length(); !length) return length;
  return digest_transfer_coding();
}

Checked<> MessageHead::digest_length() noexcept {
  content_length.reset();
  const auto value = get(KnownField::ContentLength);
  if (!value) return {};
  content_length = parse_decimal(*value);
  if (!content_length) return malformed("Content-Length is not one decimal number");
  return {};
}

Checked<> MessageHead::digest_transfer_coding() noexcept {
  chunked = false;
  if (!has(KnownField::TransferEncoding)) return {};
  if (content_length) return malformed("both Transfer-Encoding and Content-Length");
  if (minor == 0) return malformed("Transfer-Encoding in HTTP/1.0");
  Checked<> verdict;
  bool unknown = false;
  for_each(KnownField::TransferEncoding, [&](std::string_view value) {
    ListReader codings(value);
    while (const auto coding = codings.next()) {
      if (!is_token(*coding)) {
        verdict = malformed("Transfer-Encoding is not a list of plain codings");
      } else if (chunked) {
        verdict = malformed("chunked must be given once and last");
      } else if (iequals(*coding, "identity")) {
        verdict = malformed("identity is not a transfer coding");
      } else if (iequals(*coding, "chunked")) {
        chunked = true;
      } else {
        unknown = true;
      }
    }
  });
  if (verdict && unknown) {
    return refuse(Code::NotImplemented, "only the chunked transfer coding is implemented");
  }
  return verdict;
}

Checked<> MessageHead::digest_connection() noexcept {
  keep_alive = minor == 1;
  if (!has(KnownField::Connection)) return {};
  Checked<> verdict;
  bool close = false;
  for_each(KnownField::Connection, [&](std::string_view value) {
    ListReader options(value);
    while (const auto option = options.next()) {
      if (option->empty()) continue;
      if (!is_token(*option)) {
        verdict = malformed("Connection is not a list of tokens");
      } else if (iequals(*option, "close")) {
        close = true;
      } else if (iequals(*option, "keep-alive")) {
        keep_alive = true;
      } else if (known_field(*option) != KnownField::Unknown) {
        verdict = malformed("Connection names a field that must not be dropped");
      }
    }
  });
  if (close) keep_alive = false;
  return verdict;
}

VersionKind parse_version(std::string_view text, std::uint8_t& minor) noexcept {
  if (text.size() != 8 || !text.starts_with("HTTP/") || !is_digit(text[5]) || text[6] != '.' ||
      !is_digit(text[7])) {
    return VersionKind::Garbage;
  }
  if (text[5] != '1' || text[7] > '1') return VersionKind::Unsupported;
  minor = static_cast<std::uint8_t>(text[7] - '0');
  return VersionKind::Supported;
}

}  // namespace ron::http
