#include "services/gateway/client_address.h"

#include <algorithm>
#include <charconv>
#include <string>

#include "http/field_list.h"
#include "platform/client_network.h"

namespace ron::gateway {
namespace {

using Ip = AddressBlock::Ip;

// What no chain of proxies has in earnest.
constexpr int kHops = 16;
constexpr unsigned kMappedBits = 96;  // before an IPv4 address
constexpr std::string_view kUnixClient = "unix";

// An address without a port.
std::optional<Ip> parse_ip(std::string_view text) {
  std::string with_port;
  if (text.find(':') != std::string_view::npos) {
    with_port = "[" + std::string(text) + "]:0";
  } else {
    with_port = std::string(text) + ":0";
  }
  // The only name that an endpoint may have.
  if (text.empty() || text.front() == 'l') return std::nullopt;
  const auto endpoint = platform::Endpoint::parse(with_port);
  if (!endpoint || endpoint->is_unix()) return std::nullopt;
  return endpoint->ip;
}

bool is_v4(const Ip& ip) noexcept {
  platform::Endpoint endpoint;
  endpoint.ip = ip;
  return endpoint.is_v4();
}

// The last entry of a list, cut off from it.
std::string_view take_last(std::string_view& list) noexcept {
  const std::size_t comma = list.rfind(',');
  const std::string_view last = comma == std::string_view::npos ? list : list.substr(comma + 1);
  list = comma == std::string_view::npos ? std::string_view() : list.substr(0, comma);
  return http::trim_ows(last);
}

ClientAddress client_at(const Ip& ip) noexcept {
  ClientAddress client;
  platform::Endpoint endpoint;
  endpoint.ip = ip;
  client.text = AddressText(ip);
  client.is_v6 = !endpoint.is_v4();
  client.tenant = AddressText(platform::client_network(endpoint));
  return client;
}

}  // namespace

std::optional<AddressBlock> AddressBlock::parse(std::string_view text) {
  AddressBlock block;
  const std::size_t slash = text.find('/');
  const auto ip = parse_ip(text.substr(0, slash));
  if (!ip) return std::nullopt;
  block.ip_ = *ip;
  if (slash == std::string_view::npos) return block;
  const std::string_view digits = text.substr(slash + 1);
  unsigned bits = 0;
  const auto [end, status] = std::from_chars(digits.data(), digits.data() + digits.size(), bits);
  if (status != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  if (is_v4(*ip)) bits += kMappedBits;
  if (bits > 128) return std::nullopt;
  block.bits_ = bits;
  return block;
}

bool AddressBlock::contains(const Ip& ip) const noexcept {
  const std::size_t whole = bits_ / 8;
  if (!std::equal(ip.begin(), ip.begin() + static_cast<std::ptrdiff_t>(whole), ip_.begin())) {
    return false;
  }
  const unsigned rest = bits_ % 8;
  if (rest == 0) return true;
  const auto mask = static_cast<std::uint8_t>(0xFF << (8 - rest));
  return (ip[whole] & mask) == (ip_[whole] & mask);
}

AddressBlocks::AddressBlocks(const config::TextList& texts) {
  for (const std::string& text : texts) {
    if (const auto block = AddressBlock::parse(text)) blocks_.push_back(*block);
  }
}

bool AddressBlocks::contains(const Ip& ip) const noexcept {
  return std::ranges::any_of(blocks_, [&](const AddressBlock& one) { return one.contains(ip); });
}

AddressText::AddressText(const Ip& ip) noexcept {
  if (is_v4(ip)) {
    char* at = text_.data();
    for (std::size_t i = ip.size() - 4; i < ip.size(); ++i) {
      if (at != text_.data()) *at++ = '.';
      at = std::to_chars(at, text_.data() + text_.size(), static_cast<unsigned>(ip[i])).ptr;
    }
    length_ = static_cast<std::size_t>(at - text_.data());
    return;
  }
  platform::Endpoint endpoint;
  endpoint.ip = ip;
  const std::string text = endpoint.text();  // `[address]:0`
  const std::size_t end = text.rfind(']');
  length_ = text.copy(text_.data(), std::min(end - 1, text_.size()), 1);
}

AddressText::AddressText(std::string_view name) noexcept
    : length_(name.copy(text_.data(), text_.size())) {}

bool is_address_text(std::string_view text) {
  return text == kUnixClient || parse_ip(text).has_value();
}

ClientAddress client_of(const platform::Endpoint& peer, const http::FieldTable& fields,
                        const AddressBlocks& trusted) noexcept {
  if (peer.is_unix()) {
    ClientAddress client;
    client.text = client.tenant = AddressText(kUnixClient);
    client.is_local = true;
    return client;
  }
  if (trusted.empty() || !trusted.contains(peer.ip)) return client_at(peer.ip);
  // From the nearest hop on, as long as each was told by one that is trusted.
  Ip ip = peer.ip;
  std::string_view rest;
  for (const http::Field& field : fields.fields()) {
    if (http::iequals(field.name, "X-Forwarded-For")) rest = field.value;
  }
  for (int hop = 0; hop < kHops && !rest.empty() && trusted.contains(ip); ++hop) {
    const auto told = parse_ip(take_last(rest));
    if (!told) break;
    ip = *told;
  }
  ClientAddress client = client_at(ip);
  client.by_proxy = true;
  return client;
}

}  // namespace ron::gateway
