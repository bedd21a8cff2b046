#include "volume/volume.h"

#include <algorithm>
#include <functional>

namespace ron::volume {

void TenantUsage::add(std::string_view name, const Usage& usage, std::size_t most) {
  all.bytes += usage.bytes;
  all.objects += usage.objects;
  const auto bytes_of = [](const Tenant& tenant) { return tenant.usage.bytes; };
  const auto at = std::ranges::upper_bound(largest, usage.bytes, std::greater<>(), bytes_of);
  if (largest.size() >= most && at == largest.end()) return;
  largest.insert(at, Tenant{std::string(name), usage});
  if (largest.size() > most) largest.pop_back();
}

}  // namespace ron::volume
