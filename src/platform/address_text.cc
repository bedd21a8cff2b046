#include "platform/address_text.h"

#include <cstring>

#include "platform/net.h"

namespace ron::platform {

std::string network_text(const IpAddress& network) {
  Endpoint endpoint;
  endpoint.ip = network;
  const std::string text = endpoint.text();  // `192.0.2.1:0`, `[2001:db8::]:0`
  const std::string address = text.substr(0, text.rfind(':'));
  return endpoint.is_v4() ? address : address.substr(1, address.size() - 2) + "/64";
}

std::size_t IpAddressHash::operator()(const IpAddress& ip) const noexcept {
  std::array<std::uint64_t, 2> words{};
  std::memcpy(words.data(), ip.data(), sizeof words);
  return (words[0] * 0x9E3779B97F4A7C15ULL) ^ (words[1] * 0xC2B2AE3D27D4EB4FULL);
}

}  // namespace ron::platform
