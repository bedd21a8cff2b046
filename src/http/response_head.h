// The response head as our client reads it from an upstream: the same strictness as for requests,
// because a response that two readers frame differently poisons a pooled connection just as well.
//
// Same lifetime and bounds as head.h. Every refusal is UpstreamFail: the client of ours did
// nothing wrong.
#pragma once

#include <cstdint>
#include <string_view>

#include "http/fields.h"
#include "http/head.h"
#include "http/head_scanner.h"
#include "http/refusal.h"

namespace ron::http {

// How the body that follows is delimited.
enum class BodyKind : std::uint8_t { None, Length, Chunked, UntilClose };

struct ParsedResponse : MessageHead {
  int status = 0;
  std::string_view reason_text;
  BodyKind body = BodyKind::None;

  // 1xx: a final response follows on the same connection.
  [[nodiscard]] bool interim() const noexcept { return status < 200; }

 private:
  friend class ResponseHeadParser;
  Checked<> fill(std::string_view buffer, const HeadScanner& scanner, Method request) noexcept;
  Checked<> parse_status_line(std::string_view line) noexcept;
  Checked<> digest_body(Method request) noexcept;
};

class ResponseHeadParser {
 public:
  // As HeadParser::parse. `request` is the method answered: a reply to HEAD has no body.
  HeadOutcome parse(std::string_view buffer, Method request, ParsedResponse& out) noexcept;

  void reset() noexcept { scanner_.reset(); }

 private:
  HeadScanner scanner_;
};

HeadOutcome parse_response_head(std::string_view buffer, Method request,
                                ParsedResponse& out) noexcept;

}  // namespace ron::http
