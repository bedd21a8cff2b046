#include "platform/sim/trace.h"

#include <array>
#include <string>

namespace ron::platform::sim {
namespace {

constexpr auto kTexts = std::to_array<std::string_view>({
#define RON_X(name, text, numbers) text,
    RON_SIM_TRACE_KINDS(RON_X)
#undef RON_X
});

}  // namespace

std::string_view name(TraceKind kind) noexcept { return kTexts[static_cast<std::size_t>(kind)]; }

void Trace::print(TimePoint now, TraceKind kind, std::uint64_t a, std::uint64_t b) {
  std::string line = std::to_string(now.time_since_epoch().count());
  line += "ns ";
  line += name(kind);
  line += ' ';
  line += std::to_string(a);
  line += ' ';
  line += std::to_string(b);
  sink_(line);
}

}  // namespace ron::platform::sim
