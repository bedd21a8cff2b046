#include "volume/polyval.h"

#include <algorithm>
#include <bit>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace ron::volume {
namespace {

using Value = Polyval::Value;

// The field is that of x^128 + x^127 + x^126 + x^121 + 1. Bit i of a value is the coefficient of
// x^i, and a product is divided by x^128, which spares a reduction.

Value sum_of(Value a, Value b) { return {.low = a.low ^ b.low, .high = a.high ^ b.high}; }

// Bit by bit: what is to be added for the lowest bit of `b` is divided by x most often.
Value product_of(Value a, Value b) {
  constexpr std::uint64_t kOddHigh = 0xe100000000000000U;  // (the polynomial + 1) / x, upper half
  Value product;
  for (const std::uint64_t half : {b.low, b.high}) {
    for (int bit = 0; bit < 64; ++bit) {
      const std::uint64_t add = 0 - (half >> bit & 1);
      product = sum_of(product, {.low = a.low & add, .high = a.high & add});
      const std::uint64_t odd = 0 - (product.low & 1);
      product = {.low = product.low >> 1 | product.high << 63, .high = product.high >> 1};
      product.high ^= odd & kOddHigh;
    }
  }
  return product;
}

static_assert(sizeof(Value) == Polyval::kBlockBytes && std::endian::native == std::endian::little);

Value block_at(const std::byte* bytes) {
  Value block;
  std::memcpy(&block.low, bytes, sizeof block.low);
  std::memcpy(&block.high, bytes + sizeof block.low, sizeof block.high);
  return block;
}

#if defined(__x86_64__)

#define RON_NARROW __attribute__((target("sse4.1,pclmul")))
#define RON_WIDE __attribute__((target("sse4.1,pclmul,avx512f,avx512vl,vpclmulqdq")))

RON_NARROW __m128i vector_of(Value value) {
  return _mm_set_epi64x(static_cast<long long>(value.high), static_cast<long long>(value.low));
}

RON_NARROW Value value_of(__m128i vector) {
  return {static_cast<std::uint64_t>(_mm_cvtsi128_si64(vector)),
          static_cast<std::uint64_t>(_mm_extract_epi64(vector, 1))};
}

// The product low + middle x^64 + high x^128, divided by x^128 in the field. Twice 64 bits at the
// low end are made zero by adding a multiple of the field's polynomial, whose upper half is kFold.
RON_NARROW __m128i reduce(__m128i low, __m128i middle, __m128i high) {
  constexpr auto kFold = static_cast<long long>(0xc200000000000000U);
  const __m128i fold = _mm_set1_epi64x(kFold);
  constexpr int kSwapHalves = 0b01001110;
  low = _mm_xor_si128(low, _mm_slli_si128(middle, 8));
  high = _mm_xor_si128(high, _mm_srli_si128(middle, 8));
  low = _mm_xor_si128(_mm_shuffle_epi32(low, kSwapHalves), _mm_clmulepi64_si128(low, fold, 0x00));
  low = _mm_xor_si128(_mm_shuffle_epi32(low, kSwapHalves), _mm_clmulepi64_si128(low, fold, 0x00));
  return _mm_xor_si128(low, high);
}

// At most a stride: each block times its power of the key, reduced together.
RON_NARROW Value stride_narrow(Value value, const std::byte* blocks, std::size_t count,
                               const Value* powers) {
  __m128i low = _mm_setzero_si128();
  __m128i middle = low;
  __m128i high = low;
  __m128i before = vector_of(value);
  for (std::size_t i = 0; i < count; ++i) {
    const __m128i block =
        _mm_xor_si128(before, _mm_loadu_si128(reinterpret_cast<const __m128i*>(blocks) + i));
    const __m128i power = _mm_load_si128(reinterpret_cast<const __m128i*>(powers) + i);
    before = _mm_setzero_si128();
    low = _mm_xor_si128(low, _mm_clmulepi64_si128(block, power, 0x00));
    high = _mm_xor_si128(high, _mm_clmulepi64_si128(block, power, 0x11));
    middle = _mm_xor_si128(middle, _mm_xor_si128(_mm_clmulepi64_si128(block, power, 0x01),
                                                 _mm_clmulepi64_si128(block, power, 0x10)));
  }
  return value_of(reduce(low, middle, high));
}

constexpr std::size_t kLanes = 4;  // blocks in a wide vector

RON_WIDE __m128i sum_of_lanes(__m512i vector) {
  const __m256i half =
      _mm256_xor_si256(_mm512_castsi512_si256(vector), _mm512_extracti64x4_epi64(vector, 1));
  return _mm_xor_si128(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
}

// Many strides. Three products for each block instead of four (Karatsuba): the middle one comes
// from the sums of the halves. The block that waits for the stride before is taken last.
template <std::size_t kBlocks>
RON_WIDE Value strides_wide(Value value, const std::byte* blocks, std::size_t strides,
                            const Value* powers, const Value* sums) {
  constexpr auto kSwapHalves = static_cast<_MM_PERM_ENUM>(0b01001110);
  constexpr int kXorThree = 0x96;
  __m128i total = vector_of(value);
  for (; strides > 0; --strides, blocks += kBlocks * Polyval::kBlockBytes) {
    __m512i low = _mm512_setzero_si512();
    __m512i middle = low;
    __m512i high = low;
#pragma clang loop unroll(full)
    for (std::size_t i = kBlocks; i > 0;) {
      i -= kLanes;
      __m512i block = _mm512_loadu_si512(blocks + i * Polyval::kBlockBytes);
      if (i == 0) block = _mm512_xor_si512(block, _mm512_zextsi128_si512(total));
      const __m512i power = _mm512_load_si512(powers + i);
      const __m512i sum = _mm512_xor_si512(block, _mm512_shuffle_epi32(block, kSwapHalves));
      low = _mm512_xor_si512(low, _mm512_clmulepi64_epi128(block, power, 0x00));
      high = _mm512_xor_si512(high, _mm512_clmulepi64_epi128(block, power, 0x11));
      middle = _mm512_xor_si512(middle,
                                _mm512_clmulepi64_epi128(sum, _mm512_load_si512(sums + i), 0x00));
    }
    middle = _mm512_ternarylogic_epi64(middle, low, high, kXorThree);
    total = reduce(sum_of_lanes(low), sum_of_lanes(middle), sum_of_lanes(high));
  }
  return value_of(total);
}

#undef RON_NARROW
#undef RON_WIDE

#endif

}  // namespace

Polyval::Way Polyval::best() noexcept {
#if defined(__x86_64__)
  if (!__builtin_cpu_supports("pclmul") || !__builtin_cpu_supports("sse4.1")) return Way::Plain;
  const bool wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                    __builtin_cpu_supports("vpclmulqdq");
  return wide ? Way::FourBlocks : Way::OneBlock;
#else
  return Way::Plain;
#endif
}

Polyval::Polyval(const std::array<std::byte, kKeyBytes>& key, Way way) noexcept
    : way_(std::min(way, best())) {
  const Value first = block_at(key.data());
  Value power = first;
  for (std::size_t i = kStride; i-- > 0; power = product_of(power, first)) {
    powers_[i] = power;
    sums_[i] = {.low = power.low ^ power.high, .high = power.low ^ power.high};
  }
}

Polyval::Value Polyval::update_blocks(Value value, const std::byte* blocks,
                                      std::size_t count) const noexcept {
#if defined(__x86_64__)
  if (way_ == Way::FourBlocks) {
    const std::size_t strides = count / kStride;
    value = strides_wide<kStride>(value, blocks, strides, powers_.data(), sums_.data());
    blocks += strides * kStride * kBlockBytes;
    count -= strides * kStride;
  }
  if (way_ != Way::Plain) {
    while (count > 0) {
      const std::size_t some = std::min(count, kStride);
      value = stride_narrow(value, blocks, some, powers_.data() + (kStride - some));
      blocks += some * kBlockBytes;
      count -= some;
    }
    return value;
  }
#endif
  for (; count > 0; --count, blocks += kBlockBytes) {
    value = product_of(sum_of(value, block_at(blocks)), powers_.back());
  }
  return value;
}

Polyval::Value Polyval::update(Value value, base::ByteView bytes) const noexcept {
  const std::size_t whole = bytes.size() / kBlockBytes;
  value = update_blocks(value, bytes.data(), whole);
  bytes = bytes.subspan(whole * kBlockBytes);
  if (bytes.empty()) return value;
  std::array<std::byte, kBlockBytes> last{};
  std::ranges::copy(bytes, last.begin());
  return update_blocks(value, last.data(), 1);
}

}  // namespace ron::volume
