#include "app/doctor_memory.h"

#include <utility>

#include "base/about.h"

namespace ron::app {

void judge_memory(std::string_view service, const std::vector<kit::Addend>& budget,
                  std::uint64_t memory_bytes, std::string advice, Findings& out) {
  using base::about;
  using Level = Finding::Level;
  for (const kit::Addend& addend : budget) {
    out.push_back({Level::Ok, "memory",
                   about(addend.bytes()) + " = " + std::to_string(addend.count) + " x " +
                       about(addend.each_bytes) + "  " + addend.what});
  }
  const std::uint64_t total = kit::total_bytes(budget);
  std::string sum = std::string(service) + ": " + about(total) +
                    " if every limit of it is reached at once; there are " + about(memory_bytes);
  if (total > memory_bytes) {
    out.push_back({Level::Warn, "memory", std::move(sum), std::move(advice)});
  } else {
    out.push_back({Level::Ok, "memory", std::move(sum)});
  }
}

}  // namespace ron::app
