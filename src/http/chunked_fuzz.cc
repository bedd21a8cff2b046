// Any bytes as a chunked body: data stays inside the input, and arrival in pieces changes nothing.
// The first byte chooses the size of the pieces.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "http/chunked.h"

namespace {

using namespace ron::http;
using Kind = ChunkStep::Kind;

void require(bool holds) {
  if (!holds) std::abort();
}

struct Decoded {
  Kind kind = Kind::NeedMore;
  std::string body;
  std::size_t consumed = 0;
};

Decoded decode(std::string_view text, std::size_t piece) {
  ChunkedDecoder decoder;
  Decoded result;
  while (result.consumed < text.size()) {
    const std::string_view input = text.substr(result.consumed, piece);
    const ChunkStep step = decoder.feed(input);
    require(step.consumed <= input.size());
    require(step.kind == Kind::Bad || step.kind == Kind::End || step.consumed > 0);
    if (step.kind == Kind::Data) {
      require(!step.data.empty());
      require(step.data.data() + step.data.size() == input.data() + step.consumed);
    } else {
      require(step.data.empty());
      result.kind = step.kind;
    }
    result.body += step.data;
    result.consumed += step.consumed;
    if (step.kind == Kind::End || step.kind == Kind::Bad) break;
  }
  require(decoder.total() == result.body.size());
  return result;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data + 1), size - 1);
  const Decoded whole = decode(text, SIZE_MAX);
  const Decoded pieces = decode(text, data[0] % 16 + 1u);
  require((whole.kind == Kind::Bad) == (pieces.kind == Kind::Bad));
  require((whole.kind == Kind::End) == (pieces.kind == Kind::End));
  require(whole.body == pieces.body);
  if (whole.kind == Kind::End) require(whole.consumed == pieces.consumed);
  return 0;
}
