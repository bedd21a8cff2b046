// Response: what a handler answers. The connection renders and sends it.
//
// The fast path sends prepared header lines and shared bytes without copying either: `owner` keeps
// both alive until the last byte has left.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/bytes.h"
#include "base/error.h"
#include "base/result.h"
#include "base/ulid.h"
#include "http/body_source.h"
#include "http/event_stream.h"
#include "platform/send_memory.h"
#include "platform/task.h"

namespace ron::http {

// Bytes of others, kept alive by the response's owner.
struct SharedBody {
  base::ByteView bytes{};
  // What the bytes are a part of, if it can be sent by reference.
  const platform::SendMemory* memory = nullptr;
  // prepared_lines, the empty line and the bytes as they stand one behind the other in `memory`,
  // if they do: from the start of a page the kernel sends them for three quarters of what a body
  // alone costs.
  base::ByteView framed{};
};

// Piece by piece, `length` in all. Without a source only the length is said: an answer to HEAD.
struct SizedBody {
  std::unique_ptr<BodySource> source;
  std::uint64_t length = 0;
};

// Piece by piece until the source ends: chunked, or until the connection closes in HTTP/1.0.
// Without a source it is an answer to HEAD.
struct StreamedBody {
  std::unique_ptr<BodySource> source;
};

// Events until the source ends, the client leaves or the server drains.
struct EventBody {
  std::unique_ptr<EventSource> source;
};

// None, owned memory, and the above.
using ResponseBody =
    std::variant<std::monostate, std::string, SharedBody, SizedBody, StreamedBody, EventBody>;

class Response {
 public:
  Response() = default;
  explicit Response(int status_code) : status(status_code) {}

  static Response json(int status, std::string body);
  static Response text(int status, std::string body, std::string_view content_type);
  // 200 with an event stream, which no cache may keep.
  static Response events(std::unique_ptr<EventSource> source);
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
  ResponseBody body;
  bool close = false;  // end the connection after this answer

  // 1xx, 204 and 304 have neither a body nor a Content-Length.
  [[nodiscard]] bool is_bodiless() const noexcept {
    return status < 200 || status == 204 || status == 304;
  }
  // What is in memory of the body; empty if it comes in pieces.
  [[nodiscard]] base::ByteView bytes() const noexcept;
  // Of the body; nothing when only its end will tell.
  [[nodiscard]] std::optional<std::uint64_t> content_length() const noexcept;
};

}  // namespace ron::http
