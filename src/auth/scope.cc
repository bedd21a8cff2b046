#include "auth/scope.h"

#include <algorithm>
#include <array>

namespace ron::auth {
namespace {

constexpr std::array<std::string_view, kScopeCount> kNames = {
#define RON_X(enumerator, name) name,
    RON_SCOPES(RON_X)
#undef RON_X
};

bool is_word(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  });
}

bool is_scope_shaped(std::string_view text) {
  const std::size_t colon = text.find(':');
  return colon != std::string_view::npos && is_word(text.substr(0, colon)) &&
         is_word(text.substr(colon + 1));
}

}  // namespace

std::string_view name(Scope scope) noexcept { return kNames[static_cast<std::size_t>(scope)]; }

std::optional<Scope> scope_named(std::string_view text) noexcept {
  const auto found = std::ranges::find(kNames, text);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<Scope>(found - kNames.begin());
}

base::Result<ScopeSet> parse_scopes(std::string_view text, UnknownScopes unknown) {
  ScopeSet set;
  for (;;) {
    const std::size_t comma = text.find(',');
    const std::string_view item = text.substr(0, comma);
    if (!is_scope_shaped(item)) {
      return base::fail(base::Code::Malformed, "scopes are written group:verb,group:verb");
    }
    if (const auto scope = scope_named(item)) {
      set.add(*scope);
    } else if (unknown == UnknownScopes::kRefuse) {
      return base::fail(base::Code::Malformed, "unknown scope " + std::string(item) +
                                                   "; known are " + print(ScopeSet::all()));
    }
    if (comma == std::string_view::npos) return set;
    text.remove_prefix(comma + 1);
  }
}

std::string print(ScopeSet scopes) {
  std::string out;
  for (unsigned i = 0; i < kScopeCount; ++i) {
    if (!scopes.has(static_cast<Scope>(i))) continue;
    if (!out.empty()) out += ',';
    out += kNames[i];
  }
  return out;
}

}  // namespace ron::auth
