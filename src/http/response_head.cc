#include "http/response_head.h"

#include "http/field_list.h"

namespace ron::http {

using base::Code;

Checked<> ParsedResponse::parse_status_line(std::string_view line) noexcept {
  constexpr std::size_t kVersionBytes = 8;
  constexpr std::size_t kStatusEnd = kVersionBytes + 1 + 3;
  if (line.size() < kStatusEnd ||
      parse_version(line.substr(0, kVersionBytes), minor) != VersionKind::Supported) {
    return malformed("the response does not begin with an HTTP/1 status line");
  }
  const std::string_view digits = line.substr(kVersionBytes + 1, 3);
  const auto code = parse_decimal(digits);
  if (line[kVersionBytes] != ' ' || !code || *code < 100 || *code > 599) {
    return malformed("the response's status is not a number from 100 to 599");
  }
  status = static_cast<int>(*code);
  reason_text = line.substr(kStatusEnd);
  if (!reason_text.empty()) {  // some servers leave out the space before an empty reason
    if (reason_text.front() != ' ') return malformed("the response's status line is malformed");
    reason_text.remove_prefix(1);
  }
  return {};
}

Checked<> ParsedResponse::digest_body(Method request) noexcept {
  if (status < 200 || status == 204) {
    // Recipients disagree about a body here, so its announcement is refused.
    if (chunked || content_length.value_or(0) != 0) {
      return malformed("the response announces a body that its status forbids");
    }
    body = BodyKind::None;
  } else if (status == 304 || request == Method::Head) {
    body = BodyKind::None;
  } else if (chunked) {
    body = BodyKind::Chunked;
  } else if (content_length) {
    body = *content_length == 0 ? BodyKind::None : BodyKind::Length;
  } else {
    body = BodyKind::UntilClose;
    keep_alive = false;
  }
  return {};
}

Checked<> ParsedResponse::fill(std::string_view buffer, const HeadScanner& scanner,
                               Method request) noexcept {
  const std::size_t last = scanner.line_count() - 1;
  if (auto line = parse_status_line(scanner.line(buffer, 0)); !line) return line;
  if (auto digested = digest(buffer, scanner, 1, last); !digested) return digested;
  return digest_body(request);
}

HeadOutcome ResponseHeadParser::parse(std::string_view buffer, Method request,
                                      ParsedResponse& out) noexcept {
  HeadOutcome outcome = scanner_.scan(buffer);
  if (outcome.progress == Progress::Done) {
    const Checked<> filled = out.fill(buffer, scanner_, request);
    scanner_.reset();
    if (!filled) outcome = HeadOutcome::bad(filled.error());
  } else if (outcome.progress == Progress::NeedMore && !buffer.empty() && buffer.front() != 'H') {
    outcome = HeadOutcome::bad({Code::Malformed, "the response is not HTTP/1"});
  }
  if (outcome.progress == Progress::Bad) outcome.refusal.code = Code::UpstreamFail;
  return outcome;
}

HeadOutcome parse_response_head(std::string_view buffer, Method request,
                                ParsedResponse& out) noexcept {
  ResponseHeadParser parser;
  return parser.parse(buffer, request, out);
}

}  // namespace ron::http
