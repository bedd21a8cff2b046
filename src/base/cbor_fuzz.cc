// Arbitrary bytes as CBOR: whatever is accepted encodes to the same bytes again, and no part of it
// is accepted.
#include <cstdint>
#include <cstdlib>
#include <span>

#include "base/cbor.h"
#include "base/value.h"

namespace {

using namespace ron::base;

void require(bool holds) {
  if (!holds) std::abort();
}

// The kinds of read, chosen by the bytes of the input itself: a caller that expects something else
// than what is there. Neither the count of reads nor what they return may go beyond the input.
void read_in_any_order(ByteView bytes) {
  CborReader cbor(bytes);
  for (const std::byte choice : bytes) {
    switch (static_cast<unsigned>(choice) % 9) {
      case 0:
        cbor.unsigned_number();
        break;
      case 1:
        cbor.negative_number();
        break;
      case 2:
        require(cbor.bytes().size() <= bytes.size());
        break;
      case 3:
        require(cbor.text().size() <= bytes.size());
        break;
      case 4:
        require(cbor.array() <= bytes.size());
        break;
      case 5:
        require(cbor.map() <= bytes.size());
        break;
      case 6:
        cbor.boolean();
        break;
      case 7:
        cbor.null();
        break;
      default:
        require(cbor.key().size() <= bytes.size());
        break;
    }
    require(cbor.position() <= bytes.size());
  }
  if (!cbor.complete()) require(!cbor.error().message.empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ByteView bytes = std::as_bytes(std::span(data, size));
  read_in_any_order(bytes);
  const auto value = decode_cbor(bytes, {.depth = Value::kMaxDepth});
  if (!value) {
    require(value.error().code == Code::Malformed);
    return 0;
  }
  require(encode_cbor(*value) == as_text(bytes));
  require(!decode_cbor(bytes.first(size - 1)));
  // What was read prints, and what is printed can be read.
  require(parse_json(print_json(*value), {.depth = Value::kMaxDepth}).has_value());
  return 0;
}
