// ClientRequest: what a client is to send, in structured form only.
//
// Everything it points to must stay valid until send() has returned: the answer may come, and the
// request may have to be sent again, at any time before that.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/bytes.h"
#include "http/body_source.h"
#include "http/fields.h"
#include "http/head.h"
#include "platform/executor.h"
#include "platform/net.h"

namespace ron::http {

// How far a request got, for a caller that decides whether to send it again. True while send() runs
// and after it, whatever came of it.
struct SendProgress {
  bool sent = false;       // a byte of it may have left
  bool answered = false;   // a byte of an answer came
  bool body_used = false;  // its source was asked: what it gave cannot be had again
  // It failed for lack of its body: the source failed, or gave nothing until the deadline. The
  // upstream is not to blame.
  bool body_failed = false;
  bool resent = false;  // once more, on a new connection: the kept one was stale
  // Since when the upstream alone is waited for: since the request began to connect or to leave,
  // or, with a source, since all of its body left. Never: it is not, and is not to blame for the
  // time.
  platform::TimePoint waits_since = platform::kNever;

  // Sending it once more does nothing twice that must be done once.
  [[nodiscard]] bool repeatable(bool idempotent) const noexcept {
    return !body_used && (!sent || idempotent);
  }
};

struct ClientRequest {
  // Where to: an endpoint, or a host by name, whose addresses are looked up (name_cache.h).
  platform::Endpoint endpoint{};
  std::string_view name{};
  std::uint16_t port = 0;       // of the name
  std::string_view tls_host{};  // what the upstream's certificate must be for; empty: plain HTTP
  Method method = Method::Get;
  std::string_view target = "/";    // origin-form, already encoded
  std::string_view host{};          // empty: the name, or the endpoint as text
  std::span<const Field> fields{};  // without framing fields, Host and Expect
  std::span<const base::ByteView> body{};
  // Instead of body; it bounds its own waiting, the deadline given to send() holds as well. It is
  // asked for a piece when the one before has left. If the answer comes early, or the upstream
  // leaves, it is not asked any more, and a wait in it is aborted.
  BodySource* source = nullptr;
  std::optional<std::uint64_t> source_bytes{};  // its length; none: sent chunked
  // Asks before sending the body, so that a refusal costs no bytes. Silence counts as consent after
  // ClientSettings::continue_timeout.
  bool expect_continue = false;
  // A kept connection that turns out to be stale costs one more sending, on a new one.
  bool may_resend = true;
  SendProgress* progress = nullptr;  // told how far it gets

  [[nodiscard]] std::uint64_t body_bytes() const noexcept {
    std::uint64_t sum = 0;
    for (const base::ByteView span : body) sum += span.size();
    return sum;
  }
  // Sending it twice is the same as sending it once (RFC 9110, 9.2.2).
  [[nodiscard]] bool idempotent() const noexcept {
    return method != Method::Post && method != Method::Patch && method != Method::Other;
  }
};

}  // namespace ron::http
