// Addresses as keys and as text: those of clients that are counted by address (client_network.h).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace ron::platform {

// As in Endpoint: an IPv4 address is kept as an IPv4-mapped IPv6 address.
using IpAddress = std::array<std::uint8_t, 16>;

// What client_network() gave: `192.0.2.1`, `2001:db8:1:2::/64`.
std::string network_text(const IpAddress& network);

struct IpAddressHash {
  std::size_t operator()(const IpAddress& ip) const noexcept;
};

}  // namespace ron::platform
