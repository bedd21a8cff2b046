#include "observe/trace_parent.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/encoding.h"

namespace ron::observe {
namespace {

// `00-<trace id>-<parent id>-<flags>`
constexpr std::string_view kVersion = "00-";
constexpr std::size_t kTraceAt = kVersion.size();
constexpr std::size_t kTraceDigits = 2 * sizeof(TraceId);
constexpr std::size_t kParentAt = kTraceAt + kTraceDigits + 1;
constexpr std::size_t kParentDigits = 2 * sizeof(SpanId);
constexpr std::size_t kFlagsAt = kParentAt + kParentDigits + 1;
constexpr std::size_t kFlagsDigits = 2;
constexpr std::size_t kLength = kFlagsAt + kFlagsDigits;
static_assert(kLength == 55);

constexpr std::byte kSampled{1};

bool is_zero(base::ByteView id) noexcept {
  return std::ranges::all_of(id, [](std::byte b) { return b == std::byte{0}; });
}

}  // namespace

std::optional<TraceParent> parse_trace_parent(std::string_view text) noexcept {
  if (text.size() != kLength || !text.starts_with(kVersion)) return std::nullopt;
  if (text[kParentAt - 1] != '-' || text[kFlagsAt - 1] != '-') return std::nullopt;
  if (std::ranges::any_of(text, [](char c) { return c >= 'A' && c <= 'F'; })) return std::nullopt;
  TraceParent parent;
  std::array<std::byte, 1> flags{};
  const bool is_hex = base::from_hex(text.substr(kTraceAt, kTraceDigits), parent.trace_id) &&
                      base::from_hex(text.substr(kParentAt, kParentDigits), parent.parent_id) &&
                      base::from_hex(text.substr(kFlagsAt, kFlagsDigits), flags);
  if (!is_hex || is_zero(parent.trace_id) || is_zero(parent.parent_id)) return std::nullopt;
  parent.sampled = (flags[0] & kSampled) != std::byte{0};
  return parent;
}

}  // namespace ron::observe
