// Who a request comes from, and what the next hop is told about that.
//
// A client is believed nothing about itself: its own Forwarded and X-Forwarded-* fields are
// dropped. A proxy that the operator trusts is believed what it says about its client, as far back
// as the chain of trusted ones reaches.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "config/value.h"
#include "http/fields.h"
#include "platform/net.h"

namespace ron::gateway {

// `10.0.0.0/8`, `2001:db8::/32`, or one address.
class AddressBlock {
 public:
  using Ip = std::array<std::uint8_t, 16>;

  static std::optional<AddressBlock> parse(std::string_view text);
  [[nodiscard]] bool contains(const Ip& ip) const noexcept;

 private:
  Ip ip_{};
  unsigned bits_ = 128;
};

class AddressBlocks {
 public:
  AddressBlocks() = default;
  // Entries that are no blocks were refused with the configuration.
  explicit AddressBlocks(const config::TextList& texts);
  [[nodiscard]] bool contains(const AddressBlock::Ip& ip) const noexcept;
  [[nodiscard]] bool empty() const noexcept { return blocks_.empty(); }

 private:
  std::vector<AddressBlock> blocks_;
};

// An address as text, without allocating.
class AddressText {
 public:
  AddressText() = default;
  explicit AddressText(const AddressBlock::Ip& ip) noexcept;
  explicit AddressText(std::string_view name) noexcept;
  [[nodiscard]] std::string_view view() const noexcept { return {text_.data(), length_}; }

 private:
  std::array<char, 48> text_{};
  std::size_t length_ = 0;
};

// Whether an AddressText may read like this: an address, or `unix`.
bool is_address_text(std::string_view text);

// Where a request comes from.
struct ClientAddress {
  AddressText text;    // `192.0.2.1`, `2001:db8::1`; `unix` for a client on the Unix socket
  AddressText tenant;  // whom it counts for without a capability; a network of IPv6 is one client
  bool is_v6 = false;
  bool is_local = false;  // on the Unix socket
  bool by_proxy = false;  // told by a trusted proxy
};

// `peer` is the connection's other end; `fields` are the request's.
ClientAddress client_of(const platform::Endpoint& peer, const http::FieldTable& fields,
                        const AddressBlocks& trusted) noexcept;

}  // namespace ron::gateway
