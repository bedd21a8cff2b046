// TenantId: who a request is charged to, before anything is known of that tenant.
//
// There are two kinds, which never meet: the name that a capability carries, and the address of a
// client without one. A capability for `tenant = 192.0.2.7` is not the client at 192.0.2.7. A view:
// what it was made of outlives it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "services/gateway/client_address.h"

namespace ron::gateway {

class TenantId {
 public:
  static TenantId named(std::string_view name) noexcept { return {Kind::Name, name}; }
  static TenantId at(const AddressText& address) noexcept {
    return {Kind::Address, address.view()};
  }

  // As people read it and write it in drr.tenant_quanta, different for every tenant: names and
  // addresses as they are, but a name that reads as an address after `name:`.
  [[nodiscard]] std::string shown() const;

  [[nodiscard]] bool is_address() const noexcept { return kind_ == Kind::Address; }
  [[nodiscard]] std::string_view text() const noexcept { return text_; }
  [[nodiscard]] std::size_t hash() const noexcept;
  // The same tenant as a view into `text`, a copy of its own text.
  [[nodiscard]] TenantId within(std::string_view text) const noexcept { return {kind_, text}; }

  friend bool operator==(const TenantId&, const TenantId&) = default;

 private:
  enum class Kind : std::uint8_t { Name, Address };
  TenantId(Kind kind, std::string_view text) noexcept : kind_(kind), text_(text) {}

  Kind kind_;
  std::string_view text_;
};

struct TenantIdHash {
  std::size_t operator()(const TenantId& id) const noexcept { return id.hash(); }
};

}  // namespace ron::gateway
