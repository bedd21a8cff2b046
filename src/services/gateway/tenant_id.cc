#include "services/gateway/tenant_id.h"

#include <functional>

namespace ron::gateway {

std::string TenantId::shown() const {
  const bool reads_as_address = kind_ == Kind::Name && is_address_text(text_);
  return (reads_as_address ? "name:" : "") + std::string(text_);
}

std::size_t TenantId::hash() const noexcept {
  constexpr std::size_t kOtherKind = 0x9E3779B97F4A7C15ULL;
  const std::size_t hashed = std::hash<std::string_view>()(text_);
  return kind_ == Kind::Address ? hashed ^ kOtherKind : hashed;
}

}  // namespace ron::gateway
