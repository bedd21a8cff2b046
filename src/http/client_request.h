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
#include "http/fields.h"
#include "http/head.h"
#include "http/response.h"
#include "platform/net.h"

namespace ron::http {

struct ClientRequest {
  platform::Endpoint endpoint{};
  std::string_view tls_host{};  // what the upstream's certificate must be for; empty: plain HTTP
  Method method = Method::Get;
  std::string_view target = "/";    // origin-form, already encoded
  std::string_view host{};          // empty: the endpoint as text
  std::span<const Field> fields{};  // without framing fields, Host and Expect
  std::span<const base::ByteView> body{};
  BodySource* source = nullptr;                 // instead of body; it bounds its own waiting
  std::optional<std::uint64_t> source_bytes{};  // its length; none: sent chunked
  // Asks before sending the body, so that a refusal costs no bytes. Silence counts as consent after
  // ClientSettings::continue_timeout.
  bool expect_continue = false;

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
