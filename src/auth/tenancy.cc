#include "auth/tenancy.h"

#include <algorithm>

namespace ron::auth {
namespace {

constexpr std::string_view kNobody = "none";
constexpr std::string_view kAny = "any";
constexpr std::string_view kNamed = "tenant=";

}  // namespace

bool is_tenant_name(std::string_view text) noexcept {
  return !text.empty() && text.size() <= kMaxTenantBytes && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  });
}

std::optional<Tenancy> parse_tenancy(std::string_view text) {
  if (text == kNobody) return Tenancy::nobody();
  if (text == kAny) return Tenancy::any();
  if (!text.starts_with(kNamed)) return std::nullopt;
  text.remove_prefix(kNamed.size());
  if (!is_tenant_name(text)) return std::nullopt;
  return Tenancy::named(text);
}

std::string print(const Tenancy& tenancy) {
  switch (tenancy.kind) {
    case Tenancy::Kind::Unsaid:
      return "";
    case Tenancy::Kind::Nobody:
      return std::string(kNobody);
    case Tenancy::Kind::Named:
      return std::string(kNamed) + tenancy.name;
    case Tenancy::Kind::Any:
      return std::string(kAny);
  }
  return "";
}

}  // namespace ron::auth
