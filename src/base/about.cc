#include "base/about.h"

#include "base/units.h"

namespace ron::base {

std::string about(std::uint64_t bytes) {
  const auto in = [bytes](std::uint64_t unit, const char* name) {
    const std::uint64_t tenths = bytes / unit * 10 + bytes % unit * 10 / unit;
    return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + name;
  };
  if (bytes >= kGiB) return in(kGiB, "GiB");
  if (bytes >= kMiB) return in(kMiB, "MiB");
  if (bytes >= kKiB) return in(kKiB, "KiB");
  return std::to_string(bytes) + "B";
}

}  // namespace ron::base
