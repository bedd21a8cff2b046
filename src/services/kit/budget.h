// The memory a configuration may take at its limits, as a sum with named addends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "services/kit/config.h"

namespace ron::kit {

struct Addend {
  std::string what;  // names the keys behind it
  std::uint64_t count = 0;
  std::uint64_t each_bytes = 0;
  // What a connection holds while it sends an answer. A connection sends one answer at a time: of
  // several services behind one listener, the one with the largest answers counts.
  bool is_of_answers = false;
  [[nodiscard]] std::uint64_t bytes() const noexcept { return count * each_bytes; }
};

std::uint64_t total_bytes(const std::vector<Addend>& budget) noexcept;

// What the listeners of every service take, each at its limit at once; `section` is the service's.
// Socket buffers are the kernel's and not in it.
std::vector<Addend> listener_budget(std::string_view section, const ServiceConfig& config,
                                    std::size_t cores);

}  // namespace ron::kit
