// Tenancy: for which tenant a token acts.
//
// It is fixed when the token is minted and stands in the identifier, which the root key signs. A
// caveat cannot say it: whoever holds a token can add `tenant = acme`, and the signature chain does
// not tell a caveat of the mint from one that was added later.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ron::auth {

inline constexpr std::size_t kMaxTenantBytes = 64;

// Tenant names are 1 to 64 letters, digits, `.`, `_`, `-`.
bool is_tenant_name(std::string_view text) noexcept;

// A plain value. Only Named has a name.
struct Tenancy {
  enum class Kind : std::uint8_t {
    Unsaid,  // minted before identifiers said it; acts for no tenant
    Nobody,  // acts for no tenant
    Named,   // acts for this tenant
    Any,     // acts for no tenant until a caveat names one, which may be any
  };
  Kind kind = Kind::Nobody;
  std::string name;

  static Tenancy unsaid() { return {Kind::Unsaid, {}}; }
  static Tenancy nobody() { return {Kind::Nobody, {}}; }
  static Tenancy named(std::string_view name) { return {Kind::Named, std::string(name)}; }
  static Tenancy any() { return {Kind::Any, {}}; }

  friend bool operator==(const Tenancy&, const Tenancy&) = default;
};

// As it stands in an identifier: `none`, `any` or `tenant=NAME`; none for anything else. Unsaid has
// no text.
std::optional<Tenancy> parse_tenancy(std::string_view text);
std::string print(const Tenancy& tenancy);

}  // namespace ron::auth
