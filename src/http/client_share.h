// ClientShare: whom a request counts for where every client has a share of something.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ron::http {

struct Request;

// A view: what it names outlives the request's handler.
struct ClientShare {
  enum class Kind : std::uint8_t { Unknown, Tenant, Address };
  Kind kind = Kind::Unknown;
  std::string_view name{};

  // `tenant acme`, `address 192.0.2.1`: a tenant and an address are never the same share. Empty
  // when nothing tells the client from others.
  [[nodiscard]] std::string text() const;
};

// What a service in front of the process says; else the tenant of the request's capability; else
// the address it comes from, of which an IPv6 network is one. Clients on a Unix socket have no
// address to tell them apart: empty.
std::string share_of(const Request& request);

}  // namespace ron::http
