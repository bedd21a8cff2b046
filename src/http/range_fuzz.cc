// Any Range value against any size: a satisfiable range lies within the object. The first eight
// bytes are the size.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "http/range.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ron::http;
  std::uint64_t object = 0;
  if (size < sizeof object) return 0;
  std::memcpy(&object, data, sizeof object);
  const std::string_view value(reinterpret_cast<const char*>(data) + sizeof object,
                               size - sizeof object);
  for (const std::uint64_t each : {object, object % 100, std::uint64_t{0}}) {
    const RangeOutcome outcome = parse_range(value, each);
    if (outcome.kind != RangeKind::Satisfiable) continue;
    if (outcome.range.first > outcome.range.last || outcome.range.last >= each) std::abort();
    if (outcome.range.length() == 0 || outcome.range.length() > each) std::abort();
    ContentRangeText text;
    if (!print_content_range(outcome.range, each, text).starts_with("bytes ")) std::abort();
  }
  return 0;
}
