#include "http/head.h"

#include <algorithm>

#include "http/field_list.h"

namespace ron::http {
namespace {

using base::Code;
using base::limits::kTargetBytes;

constexpr Refusal kTargetTooLong{Code::UriTooLong, "the request target is too long"};

// Bytes a request line may still be waiting for when its target is within bounds.
constexpr std::size_t kLongestRequestLine =
    RequestHead::kMethodBytes + 1 + kTargetBytes + 1 + std::string_view("HTTP/1.1").size();

// An unfinished first line that can no longer become an acceptable one.
Checked<> check_unfinished(std::string_view line) noexcept {
  if (line.starts_with("\r\n")) line.remove_prefix(2);
  if (line.empty() || line == "\r") return {};
  if (!is(line.front(), kTchar)) return malformed("the head does not begin with a method");
  if (line.size() <= kLongestRequestLine + 1) return {};  // the CR may be there already
  const std::size_t method_length = span_of(line, kTchar);
  if (method_length > RequestHead::kMethodBytes || line[method_length] != ' ') {
    return malformed("the method is not a short token");
  }
  return std::unexpected(kTargetTooLong);
}

}  // namespace

bool is_host(std::string_view text) noexcept {
  std::size_t host_length = 0;
  if (text.starts_with('[')) {
    const std::size_t close = text.find(']');
    if (close == std::string_view::npos || close == 1) return false;
    for (const char c : text.substr(1, close - 1)) {
      const char folded = lower(c);
      if (!is_digit(c) && !(folded >= 'a' && folded <= 'f') && c != ':' && c != '.') return false;
    }
    host_length = close + 1;
  } else {
    host_length = span_of(text, kHostChar);
    if (host_length == 0) return false;
  }
  const std::string_view rest = text.substr(host_length);
  if (rest.empty()) return true;
  if (rest.front() != ':' || rest.size() > 6) return false;
  const std::string_view port = rest.substr(1);
  return port.empty() || parse_decimal(port).value_or(UINT64_MAX) <= 65535;
}

Method parse_method(std::string_view text) noexcept {
  using enum Method;
  switch (text.size()) {
    case 3:
      if (text == "GET") return Get;
      return text == "PUT" ? Put : Other;
    case 4:
      if (text == "HEAD") return Head;
      return text == "POST" ? Post : Other;
    case 5:
      return text == "PATCH" ? Patch : Other;
    case 6:
      return text == "DELETE" ? Delete : Other;
    case 7:
      return text == "OPTIONS" ? Options : Other;
    default:
      return Other;
  }
}

std::string_view method_name(Method method) noexcept {
  switch (method) {
    case Method::Get:
      return "GET";
    case Method::Head:
      return "HEAD";
    case Method::Put:
      return "PUT";
    case Method::Post:
      return "POST";
    case Method::Delete:
      return "DELETE";
    case Method::Options:
      return "OPTIONS";
    case Method::Patch:
      return "PATCH";
    case Method::Other:
      break;
  }
  return {};
}

Checked<> RequestHead::parse_request_line(std::string_view line) noexcept {
  const std::size_t method_length = span_of(line, kTchar);
  if (method_length == 0) return malformed("the head does not begin with a method");
  if (method_length > kMethodBytes) return malformed("the method is not a short token");
  if (method_length == line.size() || line[method_length] != ' ') {
    return malformed("the request line is not method, target and version");
  }
  method_text = line.substr(0, method_length);
  method = parse_method(method_text);

  // Both ends of the target are known when the line is right; only a wrong one is searched.
  constexpr std::size_t kVersionBytes = std::string_view(" HTTP/1.1").size();
  const std::string_view rest = line.substr(method_length + 1);
  std::size_t target_length = rest.size() - std::min(rest.size(), kVersionBytes);
  if (!is_target(rest.substr(0, target_length)) || rest[target_length] != ' ') {
    target_length = span_of(rest, kTargetChar);
  }
  if (target_length > kTargetBytes) return std::unexpected(kTargetTooLong);
  if (target_length == rest.size()) {
    return malformed("the request line is not method, target and version");
  }
  if (rest[target_length] != ' ') return malformed("a byte that the target must not contain");
  if (target_length == 0) return malformed("extra space in the request line");
  raw_target = rest.substr(0, target_length);

  switch (parse_version(rest.substr(target_length + 1), minor)) {
    case VersionKind::Supported:
      return {};
    case VersionKind::Unsupported:
      return refuse(Code::VersionNotSupported, "only HTTP/1.0 and HTTP/1.1 are spoken");
    case VersionKind::Garbage:
      break;
  }
  return malformed("the request line does not end in an HTTP version");
}

Checked<> RequestHead::digest_request() noexcept {
  host = get(KnownField::Host).value_or(std::string_view{});
  if (has(KnownField::Host) ? !is_host(host) : minor == 1) {
    return malformed("Host is missing or is not a host");
  }
  expect_continue = false;
  if (!has(KnownField::Expect)) return {};
  Checked<> verdict;
  for_each(KnownField::Expect, [&](std::string_view value) {
    if (!iequals(value, "100-continue")) {
      verdict = refuse(Code::ExpectationFailed, "only Expect: 100-continue is understood");
    }
  });
  expect_continue = verdict.has_value() && minor == 1;
  return verdict;
}

Checked<> RequestHead::reduce_target() noexcept {
  constexpr std::string_view kScheme = "http://";
  target = raw_target;
  if (target.front() == '/') return {};
  if (target == "*") {
    if (method == Method::Options) return {};
    return malformed("the target * is for OPTIONS only");
  }
  if (target.size() < kScheme.size() || !iequals(target.substr(0, kScheme.size()), kScheme)) {
    return malformed("the target is not a path");
  }
  target.remove_prefix(kScheme.size());
  const std::size_t authority_length = std::min(target.find_first_of("/?"), target.size());
  const std::string_view authority = target.substr(0, authority_length);
  if (authority.empty() || !iequals(authority, host)) {
    return malformed("the target names another authority than Host");
  }
  target.remove_prefix(authority_length);
  if (target.empty()) target = "/";
  if (target.front() != '/') return malformed("the target has a query but no path");
  return {};
}

Checked<> RequestHead::fill(std::string_view buffer, const HeadScanner& scanner) noexcept {
  // RFC 9112 §2.2: one empty line before the request line is a known client defect.
  const std::size_t first = scanner.line(buffer, 0).empty() ? 1 : 0;
  const std::size_t last = scanner.line_count() - 1;
  if (first >= last) return malformed("empty lines instead of a request line");
  if (auto line = parse_request_line(scanner.line(buffer, first)); !line) return line;
  if (auto digested = digest(buffer, scanner, first + 1, last); !digested) return digested;
  if (auto digested = digest_request(); !digested) return digested;
  return reduce_target();
}

HeadOutcome HeadParser::parse(std::string_view buffer, RequestHead& out) noexcept {
  const HeadOutcome scanned = scanner_.scan(buffer);
  if (scanned.progress == Progress::Done) {
    const Checked<> filled = out.fill(buffer, scanner_);
    reset();
    return filled ? scanned : HeadOutcome::bad(filled.error());
  }
  const bool too_large = scanned.refusal.code == Code::HeadTooLarge;
  if (scanned.progress == Progress::Bad && !too_large) return scanned;
  const Checked<> start = check_start(buffer, out);
  return start ? scanned : HeadOutcome::bad(start.error());
}

Checked<> HeadParser::check_start(std::string_view buffer, RequestHead& out) noexcept {
  if (start_checked_) return {};
  const std::size_t lines = scanner_.line_count();
  const std::size_t first = lines > 0 && scanner_.line(buffer, 0).empty() ? 1 : 0;
  if (lines <= first) return check_unfinished(buffer);
  start_checked_ = true;
  return out.parse_request_line(scanner_.line(buffer, first));
}

HeadOutcome parse_head(std::string_view buffer, RequestHead& out) noexcept {
  HeadParser parser;
  return parser.parse(buffer, out);
}

}  // namespace ron::http
