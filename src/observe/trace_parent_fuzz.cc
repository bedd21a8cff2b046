// Any bytes as a traceparent: what is taken is what the ids print as, and no id is zero.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "base/encoding.h"
#include "observe/trace_parent.h"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ron;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const auto parent = observe::parse_trace_parent(input);
  if (!parent) return 0;
  require(parent->trace_id != observe::TraceId{} && parent->parent_id != observe::SpanId{});
  const std::string ids =
      "00-" + base::to_hex(parent->trace_id) + "-" + base::to_hex(parent->parent_id) + "-";
  require(input.substr(0, ids.size()) == ids && input.size() == ids.size() + 2);
  require(parent->sampled == (base::hex_digit(input.back()) % 2 == 1));
  return 0;
}
