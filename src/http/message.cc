#include "http/message.h"

#include <charconv>
#include <cstring>

#include "http/field_list.h"

namespace ron::http {
namespace {

// X(status, reason)
#define RON_STATUSES(X)                     \
  X(100, "Continue")                        \
  X(101, "Switching Protocols")             \
  X(200, "OK")                              \
  X(201, "Created")                         \
  X(202, "Accepted")                        \
  X(204, "No Content")                      \
  X(206, "Partial Content")                 \
  X(301, "Moved Permanently")               \
  X(302, "Found")                           \
  X(303, "See Other")                       \
  X(304, "Not Modified")                    \
  X(307, "Temporary Redirect")              \
  X(308, "Permanent Redirect")              \
  X(400, "Bad Request")                     \
  X(401, "Unauthorized")                    \
  X(403, "Forbidden")                       \
  X(404, "Not Found")                       \
  X(405, "Method Not Allowed")              \
  X(406, "Not Acceptable")                  \
  X(408, "Request Timeout")                 \
  X(409, "Conflict")                        \
  X(410, "Gone")                            \
  X(411, "Length Required")                 \
  X(412, "Precondition Failed")             \
  X(413, "Content Too Large")               \
  X(414, "URI Too Long")                    \
  X(415, "Unsupported Media Type")          \
  X(416, "Range Not Satisfiable")           \
  X(417, "Expectation Failed")              \
  X(421, "Misdirected Request")             \
  X(422, "Unprocessable Content")           \
  X(426, "Upgrade Required")                \
  X(428, "Precondition Required")           \
  X(429, "Too Many Requests")               \
  X(431, "Request Header Fields Too Large") \
  X(500, "Internal Server Error")           \
  X(501, "Not Implemented")                 \
  X(502, "Bad Gateway")                     \
  X(503, "Service Unavailable")             \
  X(504, "Gateway Timeout")                 \
  X(505, "HTTP Version Not Supported")      \
  X(507, "Insufficient Storage")

// The whole status line where it is known, so that the common case is one copy.
std::string_view status_line(int status) noexcept {
  switch (status) {
#define RON_X(code, text) \
  case code:              \
    return "HTTP/1.1 " #code " " text "\r\n";
    RON_STATUSES(RON_X)
#undef RON_X
    default:
      return {};
  }
}

bool framing_field(KnownField known) noexcept {
  return known == KnownField::ContentLength || known == KnownField::TransferEncoding ||
         known == KnownField::Connection;
}

void append_fields(std::span<const Field> fields, HeadBuffer& out) noexcept {
  for (const Field& field : fields) {
    if (framing_field(known_field(field.name))) out.spoil();
    out.append_field(field.name, field.value);
  }
}

void append_framing(Framing framing, std::uint64_t content_length, HeadBuffer& out) noexcept {
  switch (framing) {
    case Framing::Length:
      out.append("Content-Length: ");
      out.append(content_length);
      out.append("\r\n");
      break;
    case Framing::Chunked:
      out.append("Transfer-Encoding: chunked\r\n");
      break;
    case Framing::None:
    case Framing::UntilClose:
      break;
  }
}

}  // namespace

std::string_view reason(int status) noexcept {
  const std::string_view line = status_line(status);
  if (line.empty()) return "Unknown";
  constexpr std::size_t kBefore = std::string_view("HTTP/1.1 200 ").size();
  return line.substr(kBefore, line.size() - kBefore - 2);
}

void HeadBuffer::append(std::string_view text) noexcept {
  if (text.size() > memory_.size() - length_) {
    ok_ = false;
    full_ = true;
    return;
  }
  if (text.empty()) return;  // a null view is no memcpy source
  std::memcpy(memory_.data() + length_, text.data(), text.size());
  length_ += text.size();
}

void HeadBuffer::append(std::uint64_t number) noexcept {
  char digits[20];
  const auto written = std::to_chars(digits, digits + sizeof digits, number);
  append({digits, static_cast<std::size_t>(written.ptr - digits)});
}

void HeadBuffer::append_field(std::string_view name, std::string_view value) noexcept {
  if (!is_token(name) || !is_field_value(value)) {
    ok_ = false;
    return;
  }
  append(name);
  append(": ");
  append(value);
  append("\r\n");
}

void HeadBuffer::append_field(std::string_view name, std::uint64_t value) noexcept {
  char digits[20];
  const auto written = std::to_chars(digits, digits + sizeof digits, value);
  append_field(name, {digits, static_cast<std::size_t>(written.ptr - digits)});
}

bool render(const ResponseHead& head, HeadBuffer& out) noexcept {
  if (const std::string_view line = status_line(head.status); !line.empty()) {
    out.append(line);
  } else if (head.status >= 100 && head.status <= 599) {
    out.append("HTTP/1.1 ");
    out.append(static_cast<std::uint64_t>(head.status));
    out.append(" Unknown\r\n");
  } else {
    out.spoil();
  }
  if (!head.date.empty()) out.append_field("Date", head.date);
  if (head.framing == Framing::Chunked && head.minor == 0) out.spoil();
  append_framing(head.framing, head.content_length, out);
  append_fields(head.fields, out);
  append_fields(head.more_fields, out);
  if (!head.keep_alive || head.framing == Framing::UntilClose) {
    out.append("Connection: close\r\n");
  } else if (head.minor == 0) {
    out.append("Connection: keep-alive\r\n");
  }
  out.append("\r\n");
  return out.ok();
}

bool render(const RequestOut& head, HeadBuffer& out) noexcept {
  const bool fine =
      is_token(head.method) && is_target(head.target) && head.framing != Framing::UntilClose;
  if (!fine) out.spoil();
  out.append(head.method);
  out.append(" ");
  out.append(head.target);
  out.append(" HTTP/1.1\r\n");
  out.append_field("Host", head.host);
  append_framing(head.framing, head.content_length, out);
  if (head.expect_continue) out.append("Expect: 100-continue\r\n");
  for (const Field& field : head.fields) {
    const KnownField known = known_field(field.name);
    if (framing_field(known) || known == KnownField::Host || known == KnownField::Expect) {
      out.spoil();
    }
    out.append_field(field.name, field.value);
  }
  if (!head.keep_alive) out.append("Connection: close\r\n");
  out.append("\r\n");
  return out.ok();
}

}  // namespace ron::http
