// Any bytes in any coding: never more output than the limits allow, and no verdict but the three.
// The first byte chooses the coding, the second the size of the pieces.
#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "http/decode_guard.h"

namespace {

using namespace ron;

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  constexpr http::Coding kCodings[] = {http::Coding::Identity, http::Coding::Gzip,
                                       http::Coding::Deflate, http::Coding::Brotli,
                                       http::Coding::Zstd};
  constexpr http::DecodeLimits kLimits{.cap_bytes = 1 << 20, .ratio_max = 10};
  const http::Coding coding = kCodings[data[0] % std::size(kCodings)];
  const std::size_t step = data[1] == 0 ? SIZE_MAX : data[1];
  base::ByteView rest(reinterpret_cast<const std::byte*>(data + 2), size - 2);

  http::DecodeGuard guard(coding, kLimits);
  std::uint64_t produced = 0;
  base::Result<> result;
  while (!rest.empty() && result) {
    const base::ByteView part = rest.first(std::min(step, rest.size()));
    rest = rest.subspan(part.size());
    result = guard.feed(part, [&](base::ByteView piece) -> base::Result<> {
      require(!piece.empty() && piece.size() <= http::DecodeGuard::kPieceBytes);
      produced += piece.size();
      return {};
    });
  }
  if (result) {
    require(guard.encoded_bytes() == size - 2);
    result = guard.finish();
  }
  require(produced <= kLimits.cap_bytes);
  require(coding == http::Coding::Identity || produced <= http::DecodeGuard::kRatioFreeBytes ||
          produced <= kLimits.ratio_max * (size - 2));
  if (!result) {
    const base::Code code = result.error().code;
    require(code == base::Code::Malformed || code == base::Code::DecodedCap ||
            code == base::Code::DecodedRatio);
  }
  return 0;
}
