// The error taxonomy: one registry of codes for all services.
//
// Errors are values. Every code is declared once below; its HTTP status, whether a retry can help
// and the text in docs/generated/errors.md all come from that line. Codes are stable: scripts match
// them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ron::base {

// X(name, http status, retry helps, meaning)
#define RON_ERROR_CODES(X)                                                                  \
  X(Malformed, 400, false, "the request breaks HTTP or the route's rules")                  \
  X(BadAddress, 400, false, "the object address is not b3: and 64 hex digits")              \
  X(BadRange, 400, false, "the Range header cannot be parsed")                              \
  X(Unauthorized, 401, false, "no capability, or one that does not verify")                 \
  X(Forbidden, 403, false, "the capability does not cover this request")                    \
  X(NotAllowed, 403, false, "policy forbids this request")                                  \
  X(InvalidSig, 403, false, "a signature does not verify")                                  \
  X(RevokedKey, 403, false, "the capability or its key was revoked")                        \
  X(NotFound, 404, false, "nothing is stored or named there")                               \
  X(MethodNotAllowed, 405, false, "the route exists, the method does not")                  \
  X(NotAcceptable, 406, false, "no representation matches Accept")                          \
  X(ReadTimeout, 408, true, "the request did not arrive within the read timeout")           \
  X(HashMismatch, 409, false, "the bytes do not match the address given")                   \
  X(ChainMismatch, 409, false, "the hash chain does not continue from the head named")      \
  X(DuplicateApproval, 409, false, "this key has approved already")                         \
  X(QuorumFailed, 409, false, "too few valid approvals")                                    \
  X(VersionSkew, 409, true, "the head moved on since the request was made")                 \
  X(Pruned, 410, false, "the version was pruned; a signed checkpoint covers it")            \
  X(LengthRequired, 411, false, "the request needs a Content-Length or chunked body")       \
  X(PreconditionFailed, 412, false, "If-Match does not hold")                               \
  X(BodyCap, 413, false, "the body is larger than the limit")                               \
  X(DecodedCap, 413, false, "the decoded body is larger than the limit, or is nested")      \
  X(DecodedRatio, 413, false, "the body expands more than the allowed ratio")               \
  X(UriTooLong, 414, false, "the request target is too long")                               \
  X(UnsupportedMedia, 415, false, "the content type or coding is not understood")           \
  X(RangeNotSatisfiable, 416, false, "the range lies outside the object")                   \
  X(ExpectationFailed, 417, false, "only Expect: 100-continue is understood")               \
  X(HeadTooLarge, 431, false, "the request head is too large")                              \
  X(Busy, 429, true, "a queue or the in-flight limit is full")                              \
  X(RateLimited, 429, true, "the request rate is above the limit")                          \
  X(Quota, 429, false, "the tenant's quota is used up")                                     \
  X(Internal, 500, false, "a defect in the server; the log has the correlation id")         \
  X(NotImplemented, 501, false, "the method or transfer coding is not implemented")         \
  X(IntegrityFail, 502, true, "stored bytes did not match their address and were withheld") \
  X(UpstreamFail, 502, true, "an upstream failed")                                          \
  X(Draining, 503, true, "the server is shutting down")                                     \
  X(Degraded, 503, true, "the service sheds this kind of request for now")                  \
  X(BreakerOpen, 503, true, "the circuit breaker for the target is open")                   \
  X(StorageBusy, 503, true, "the disk does not keep up or reports errors")                  \
  X(Amnesia, 503, false, "amnesia mode: this would have to touch the disk")                 \
  X(Canceled, 503, true, "the work was cancelled before it finished")                       \
  X(Timeout, 504, true, "the request's deadline passed")                                    \
  X(VersionNotSupported, 505, false, "only HTTP/1.0 and HTTP/1.1 are spoken")               \
  X(StorageFull, 507, true, "no room left for the object")

enum class Code : std::uint8_t {
#define RON_X(name, status, retry, meaning) name,
  RON_ERROR_CODES(RON_X)
#undef RON_X
};

struct CodeInfo {
  Code code;
  std::string_view name;
  int status;
  bool retry_helps;
  std::string_view meaning;
};

// Every code in declaration order.
std::span<const CodeInfo> all_codes() noexcept;
const CodeInfo& info(Code code) noexcept;

// A failed operation: what the client is told. `details` become the envelope's "details" object and
// hold numbers an operator can act on (limits, measured values); never secrets.
struct Error {
  Code code = Code::Internal;
  std::string message;
  std::uint32_t retry_after_s = 0;  // 0: the code's default applies
  std::vector<std::pair<std::string, std::string>> details;

  Error() = default;
  Error(Code c, std::string m) : code(c), message(std::move(m)) {}

  Error&& with(std::string key, std::string value) && {
    details.emplace_back(std::move(key), std::move(value));
    return std::move(*this);
  }
  [[nodiscard]] int status() const noexcept { return info(code).status; }
  [[nodiscard]] std::string_view name() const noexcept { return info(code).name; }
};

}  // namespace ron::base
