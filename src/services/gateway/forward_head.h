// ForwardHead: the fields of a request as its upstream gets them.
//
// Written anew from what was parsed: without what was meant for this hop only (http/hop_by_hop.h)
// and without anything the client said about where it comes from. Instead there is one line each of
// Forwarded (RFC 7239), X-Forwarded-For, X-Forwarded-Proto, X-Forwarded-Host and X-Corr-ID, which
// say what is known here.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string_view>

#include "http/hop_by_hop.h"
#include "http/request.h"
#include "services/gateway/client_address.h"

namespace ron::gateway {

// `https` or `http`: what the client used, as far as that is known for certain. A proxy in front
// that is trusted is believed.
std::string_view scheme_of(const http::Request& request, const ClientAddress& client) noexcept;

// Views into the request and the address, which outlive it. Stays where it was made.
class ForwardHead {
 public:
  // Longer hosts are refused before they come here.
  static constexpr std::size_t kHostBytes = 261;  // a name and a port

  ForwardHead(const http::Request& request, const ClientAddress& client) noexcept;
  ForwardHead(const ForwardHead&) = delete;
  ForwardHead& operator=(const ForwardHead&) = delete;

  [[nodiscard]] std::span<const http::Field> fields() const noexcept { return fields_.fields(); }

 private:
  // An address, the longest host and what is written around them.
  static constexpr std::size_t kTextBytes = 384;

  http::ForwardedFields fields_;
  std::array<char, kTextBytes> text_;
};

}  // namespace ron::gateway
