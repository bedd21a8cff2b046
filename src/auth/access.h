// Access: who may use a route. There is no default, so a route nobody decided about does not
// compile; a scope is one of scope.h, so a mistyped one does not either.
#pragma once

#include <optional>

#include "auth/scope.h"

namespace ron::auth {

class Access {
 public:
  // Anyone, always: health, version, metrics.
  static constexpr Access open() noexcept { return Access(Kind::Open, {}); }
  // Anyone while auth.public_reads is on; then any good capability.
  static constexpr Access read() noexcept { return Access(Kind::Read, {}); }
  // Only with a capability, whatever it is for.
  static constexpr Access any() noexcept { return Access(Kind::Scoped, {}); }
  // Only with a capability for that scope.
  static constexpr Access needs(Scope scope) noexcept { return Access(Kind::Scoped, scope); }
  // The same, and this scope does as well and lets its holder do more.
  [[nodiscard]] constexpr Access or_fully(Scope scope) const noexcept {
    Access wider = *this;
    wider.full_scope_ = scope;
    return wider;
  }

  [[nodiscard]] constexpr bool is_open() const noexcept { return kind_ == Kind::Open; }
  [[nodiscard]] constexpr bool is_read() const noexcept { return kind_ == Kind::Read; }
  // What the capability must be for; nothing for a read, or if any will do.
  [[nodiscard]] constexpr std::optional<Scope> scope() const noexcept { return scope_; }
  [[nodiscard]] constexpr std::optional<Scope> full_scope() const noexcept { return full_scope_; }

 private:
  enum class Kind : std::uint8_t { Open, Read, Scoped };
  constexpr Access(Kind kind, std::optional<Scope> scope) noexcept : kind_(kind), scope_(scope) {}

  Kind kind_;
  std::optional<Scope> scope_;
  std::optional<Scope> full_scope_;
};

}  // namespace ron::auth
