// Arbitrary text as JSON: whatever is accepted prints to a text that means the same, prints the
// same again, and has one encoding as CBOR.
#include <cstdint>
#include <cstdlib>
#include <span>

#include "base/value.h"

namespace {

using namespace ron::base;

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr ValueLimits kLimits{.depth = Value::kMaxDepth};
  const auto value = parse_json(as_text(std::as_bytes(std::span(data, size))), kLimits);
  if (!value) {
    require(value.error().code == Code::Malformed);
    return 0;
  }
  const std::string printed = print_json(*value);
  const auto again = parse_json(printed, kLimits);
  require(again == *value);
  require(print_json(*again) == printed);
  require(decode_cbor(as_bytes(encode_cbor(*value)), kLimits) == *value);
  return 0;
}
