// The request head: RFC 9112 read strictly, without copying and without allocating.
//
// Refused, because two parties that read them differently can be played against each other:
// repeated or listed Content-Length, Transfer-Encoding beside it or other than one final `chunked`,
// folded lines, bare CR or LF, control bytes, space before a colon, two Hosts, and so on; the table
// in head_test.cc is the full list with the status of each. A refused head ends the connection.
//
// HeadParser belongs to one connection. RequestHead holds views into the caller's buffer: valid
// until that buffer changes. Bounds: kHeadBytes (431), kHeadFields (431), kTargetBytes (414).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "http/fields.h"
#include "http/head_scanner.h"
#include "http/refusal.h"

namespace ron::http {

enum class Method : std::uint8_t { Get, Head, Put, Post, Delete, Options, Patch, Other };

// Methods are case-sensitive; any other token is Other, and what to say to it is the router's
// business.
Method parse_method(std::string_view text) noexcept;
// "GET" and so on; empty for Other.
std::string_view method_name(Method method) noexcept;

// `host[:port]` as a name, an IPv4 address or a bracketed IPv6 address.
bool is_host(std::string_view text) noexcept;

struct RequestHead : MessageHead {
  static constexpr std::size_t kMethodBytes = 32;  // longer method tokens are 400

  Method method = Method::Other;
  std::string_view method_text;
  std::string_view raw_target;   // as sent
  std::string_view target;       // origin-form, beginning with '/', or `*` for OPTIONS
  std::string_view host;         // empty only in HTTP/1.0
  bool expect_continue = false;  // HTTP/1.1 only

  // A body follows; without one the next byte begins the next head.
  [[nodiscard]] bool has_body() const noexcept { return chunked || content_length.value_or(0) > 0; }

 private:
  friend class HeadParser;
  Checked<> fill(std::string_view buffer, const HeadScanner& scanner) noexcept;
  Checked<> parse_request_line(std::string_view line) noexcept;
  Checked<> digest_request() noexcept;
  Checked<> reduce_target() noexcept;
};

class HeadParser {
 public:
  // `buffer` begins at the head and holds everything received since. NeedMore: call again with the
  // same bytes and more behind them; bytes already seen are not scanned again, `out` means nothing.
  // Done: `out` is filled, the head is buffer[0, consumed) and the parser is ready for the next
  // one. Bad: close the connection after the reply; reset() before any other use.
  HeadOutcome parse(std::string_view buffer, RequestHead& out) noexcept;

  void reset() noexcept {
    scanner_.reset();
    start_checked_ = false;
  }

 private:
  // Refuses a wrong request line as soon as it is there, without waiting for the rest of the head.
  Checked<> check_start(std::string_view buffer, RequestHead& out) noexcept;

  HeadScanner scanner_;
  bool start_checked_ = false;
};

// A head that is expected to be complete.
HeadOutcome parse_head(std::string_view buffer, RequestHead& out) noexcept;

}  // namespace ron::http
