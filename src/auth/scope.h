// Scopes: what a capability may do. Each is declared once below; names are part of the contract.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace ron::auth {

// X(enumerator, name)
#define RON_SCOPES(X)                     \
  X(kStorageWrite, "storage:write")       \
  X(kStorageDelete, "storage:delete")     \
  X(kStorageAdmin, "storage:admin")       \
  X(kIndexWrite, "index:write")           \
  X(kIndexAdmin, "index:admin")           \
  X(kRegistryPropose, "registry:propose") \
  X(kRegistryApprove, "registry:approve") \
  X(kRegistryCommit, "registry:commit")   \
  X(kRegistryGovern, "registry:govern")   \
  X(kEdgeAdmin, "edge:admin")             \
  X(kGatewayAdmin, "gateway:admin")

enum class Scope : std::uint8_t {
#define RON_X(enumerator, name) enumerator,
  RON_SCOPES(RON_X)
#undef RON_X
};

inline constexpr unsigned kScopeCount = 0
#define RON_X(enumerator, name) +1
    RON_SCOPES(RON_X)
#undef RON_X
    ;
static_assert(kScopeCount <= 32, "ScopeSet keeps one bit for each scope");

std::string_view name(Scope scope) noexcept;
std::optional<Scope> scope_named(std::string_view text) noexcept;

// A set of scopes; a plain value.
class ScopeSet {
 public:
  constexpr ScopeSet() = default;
  static constexpr ScopeSet all() {
    ScopeSet set;
    set.bits_ = (std::uint32_t{1} << kScopeCount) - 1;
    return set;
  }

  constexpr void add(Scope scope) { bits_ |= bit(scope); }
  constexpr void keep_only(ScopeSet other) { bits_ &= other.bits_; }
  [[nodiscard]] constexpr bool has(Scope scope) const { return (bits_ & bit(scope)) != 0; }
  [[nodiscard]] constexpr bool empty() const { return bits_ == 0; }
  friend constexpr bool operator==(ScopeSet, ScopeSet) = default;

 private:
  static constexpr std::uint32_t bit(Scope scope) {
    return std::uint32_t{1} << static_cast<unsigned>(scope);
  }
  std::uint32_t bits_ = 0;
};

// What a scope name this build does not know means. Minting refuses it: a typing error must not
// yield a useless token. Verifying ignores it: the token may be meant for a newer server, and a
// name that is ignored grants nothing.
enum class UnknownScopes : std::uint8_t { kRefuse, kIgnore };

// `storage:write,index:write`: at least one `group:verb`, no spaces; Malformed otherwise.
base::Result<ScopeSet> parse_scopes(std::string_view text, UnknownScopes unknown);
// In declaration order; empty for the empty set.
std::string print(ScopeSet scopes);

}  // namespace ron::auth
