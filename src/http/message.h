// Writing heads: reason phrases, a bounded text buffer, and the rendering of responses and
// requests.
//
// Nothing here allocates or formats through streams. Names and values are checked as they are
// written, so no caller can smuggle a line break into a head; the framing fields (Content-Length,
// Transfer-Encoding, Connection) come from the head's own members and are refused as plain fields,
// so a message can never announce two lengths.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "http/fields.h"
#include "http/head.h"

namespace ron::http {

// "OK" and so on; "Unknown" for a status we never send.
std::string_view reason(int status) noexcept;

// The interim reply to Expect: 100-continue.
inline constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

// Appends to memory of the caller. Sticky: the first append that does not fit, or that is not
// allowed where it was put, spoils the buffer, and ok() tells at the end.
class HeadBuffer {
 public:
  explicit HeadBuffer(std::span<char> memory) noexcept : memory_(memory) {}

  void append(std::string_view text) noexcept;
  void append(std::uint64_t number) noexcept;
  // `name: value` and CRLF; spoils the buffer unless the name is a token and the value a value.
  void append_field(std::string_view name, std::string_view value) noexcept;
  void append_field(std::string_view name, std::uint64_t value) noexcept;

  void spoil() noexcept { ok_ = false; }
  void clear() noexcept {
    length_ = 0;
    ok_ = true;
    full_ = false;
  }

  [[nodiscard]] bool ok() const noexcept { return ok_; }
  // Something did not fit.
  [[nodiscard]] bool full() const noexcept { return full_; }
  [[nodiscard]] std::string_view view() const noexcept { return {memory_.data(), length_}; }

 private:
  std::span<char> memory_;
  std::size_t length_ = 0;
  bool ok_ = true;
  bool full_ = false;
};

// How a message we send delimits its body.
enum class Framing : std::uint8_t {
  None,        // no body and no length: 1xx, 204, 304, requests without a body
  Length,      // Content-Length; also for replies to HEAD
  Chunked,     // HTTP/1.1 peers only
  UntilClose,  // replies only; forces Connection: close
};

struct ResponseHead {
  int status = 200;
  Framing framing = Framing::Length;
  std::uint64_t content_length = 0;      // for Framing::Length
  bool keep_alive = true;                // false is said with Connection: close
  std::uint8_t minor = 1;                // of the request: 1.0 has to be told about keep-alive
  std::string_view date{};               // preformatted; left out when empty
  std::span<const Field> fields{};       // without framing fields
  std::span<const Field> more_fields{};  // the caller's common fields, so they need no copying
};

// Appends the head and the empty line. False when it does not fit or a field is not allowed; the
// buffer is then worthless.
[[nodiscard]] bool render(const ResponseHead& head, HeadBuffer& out) noexcept;

struct RequestOut {
  std::string_view method = "GET";
  std::string_view target = "/";  // origin-form, already encoded
  std::string_view host{};
  Framing framing = Framing::None;
  std::uint64_t content_length = 0;
  bool keep_alive = true;
  bool expect_continue = false;
  std::span<const Field> fields{};  // without framing fields, Host and Expect
};

[[nodiscard]] bool render(const RequestOut& head, HeadBuffer& out) noexcept;

}  // namespace ron::http
