// Request: one thing a client asks, as bytes and as far as every service sees it alike.
//
// A service derives its own from this one and adds what its judge has to know.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/units.h"

namespace ron::sim {

// What a request shows, measured by what it has to show.
enum class Right : std::uint8_t {
  Enough,    // shows all it needs, or needs nothing
  Nobody,    // shows nothing, or nothing that counts
  TooLittle  // shows the right to do other things
};

struct Request {
  Request() = default;
  Request(const Request&) = default;
  Request& operator=(const Request&) = default;
  virtual ~Request() = default;

  std::string what;  // `put #3 gzip`, for people
  std::string corr_id;
  std::string head;
  std::string body;                 // as sent, chunk framing included
  std::uint64_t encoded_bytes = 0;  // the body without framing
  std::uint64_t decoded_bytes = 0;  // and after decoding
  std::uint64_t answer_bytes = 0;   // the longest body an answer has
  base::Duration answer_takes{};    // that others may take for it, beyond the request's deadline

  bool has_body = false;
  bool chunked = false;
  bool gzip = false;
  bool expects_continue = false;
  bool asks_close = false;
  bool to_head = false;      // HEAD: its answer has no body
  bool heavy = false;        // passes through admission
  bool garbage = false;      // not HTTP at all
  bool asks_ready = false;   // GET /readyz
  bool public_read = false;  // strangers may, if the settings say so
  Right right = Right::Enough;

  [[nodiscard]] std::size_t bytes() const { return head.size() + body.size(); }
};

using RequestPtr = std::unique_ptr<Request>;

}  // namespace ron::sim
