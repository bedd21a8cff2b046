// Response: what a handler answers. The connection renders and sends it.
//
// The hot path sends prepared header lines and shared bytes without copying either: `owner` keeps
// both alive until the last byte has left.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/error.h"
#include "base/ulid.h"
#include "http/body_source.h"
#include "platform/send_memory.h"

namespace ron::http {

class Response {
 public:
  Response() = default;
  explicit Response(int status_code) : status(status_code) {}

  static Response json(int status, std::string body);
  static Response text(int status, std::string body, std::string_view content_type);
  // The envelope {"error":{…}} with Retry-After where a retry makes sense.
  static Response error(const base::Error& error, const base::Ulid& corr_id);

  // Adds one header line. A name or value that could break out of its line is dropped: wrong, but
  // never a second header.
  void add(std::string_view name, std::string_view value);

  int status = 200;
  std::string_view error_code{};      // the envelope's, for the log
  std::string lines;                  // `Name: value\r\n` each
  std::string_view prepared_lines{};  // the same, kept alive by owner
  std::shared_ptr<const void> owner;
  std::string text_body;
  base::ByteView shared_body{};  // kept alive by owner; used when text_body is empty
  // What shared_body is a part of, if it can be sent by reference.
  const platform::SendMemory* memory = nullptr;
  // prepared_lines, the empty line and shared_body as they stand one behind the other in `memory`,
  // if they do: from the start of a page the kernel sends them for three quarters of what a body
  // alone costs.
  base::ByteView framed_body{};
  std::unique_ptr<BodySource> source;  // used when set
  std::uint64_t source_bytes = 0;      // its length
  bool length_only = false;            // HEAD: source_bytes is said, there need be no source
  bool no_content_length = false;      // 204 and 304: no body and no Content-Length line
  bool close = false;                  // end the connection after this answer

  [[nodiscard]] base::ByteView body() const noexcept {
    return text_body.empty() ? shared_body : base::as_bytes(text_body);
  }
  [[nodiscard]] std::uint64_t content_length() const noexcept {
    return source || length_only ? source_bytes : body().size();
  }
};

}  // namespace ron::http
