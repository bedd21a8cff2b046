// Sizes for people to read, where exact figures would only be in the way.
#pragma once

#include <cstdint>
#include <string>

namespace ron::base {

// About three digits: `1.2GiB`, `17.0KiB`, `512B`.
std::string about(std::uint64_t bytes);

}  // namespace ron::base
