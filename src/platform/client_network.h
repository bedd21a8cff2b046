// What one client is given of the Internet, for whoever counts by address: an IPv4 address, or a
// network of 64 bits of IPv6, in which a client can take a new address for every request.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "platform/net.h"

namespace ron::platform {

// An address with zeros for what the client can choose itself. Not for Unix sockets, which have no
// addresses.
inline std::array<std::uint8_t, 16> client_network(const Endpoint& peer) noexcept {
  constexpr std::ptrdiff_t kNetworkBytes = 8;
  std::array<std::uint8_t, 16> network = peer.ip;
  if (!peer.is_v4()) std::fill(network.begin() + kNetworkBytes, network.end(), std::uint8_t{0});
  return network;
}

}  // namespace ron::platform
