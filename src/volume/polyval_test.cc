#include "volume/polyval.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "b3/sample_bytes.h"
#include "b3/sample_gen.h"
#include "base/encoding.h"

namespace ron::volume {
namespace {

namespace samples = b3::samples;
using Key = std::array<std::byte, Polyval::kKeyBytes>;
using Value = Polyval::Value;

// On a machine without the instructions a way is the best there is.
class PolyvalTest : public testing::TestWithParam<Polyval::Way> {
 protected:
  static Polyval under(const Key& key) { return Polyval(key, GetParam()); }
};

std::vector<std::byte> from_hex(std::string_view text) {
  std::vector<std::byte> bytes(text.size() / 2);
  EXPECT_TRUE(base::from_hex(text, bytes));
  return bytes;
}

Key key_of(base::ByteView bytes) {
  Key key;
  std::ranges::copy(bytes.first(key.size()), key.begin());
  return key;
}

Value block_of(base::ByteView bytes) {
  Value value;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    (i < 8 ? value.low : value.high) |= std::to_integer<std::uint64_t>(bytes[i]) << (i % 8 * 8);
  }
  return value;
}

// a * b / x^128 modulo x^128 + x^127 + x^126 + x^121 + 1, one bit at a time: for every bit of b,
// from the lowest, add a, then divide by x.
Value slow_product(Value a, Value b) {
  Value sum;
  for (int i = 0; i < 128; ++i) {
    const std::uint64_t bit = (i < 64 ? b.low >> i : b.high >> (i - 64)) & 1;
    if (bit != 0) sum = {sum.low ^ a.low, sum.high ^ a.high};
    const bool odd = (sum.low & 1) != 0;
    sum = {(sum.low >> 1) | (sum.high << 63), sum.high >> 1};
    if (odd) sum.high ^= 0xe100000000000000U;
  }
  return sum;
}

Value slow_value(const Key& key, base::ByteView bytes) {
  const Value factor = block_of(key);
  Value value;
  while (!bytes.empty()) {
    const Value block = block_of(bytes.first(std::min(bytes.size(), Polyval::kBlockBytes)));
    value = slow_product({value.low ^ block.low, value.high ^ block.high}, factor);
    bytes = bytes.subspan(std::min(bytes.size(), Polyval::kBlockBytes));
  }
  return value;
}

// RFC 8452, appendix A.
TEST_P(PolyvalTest, GivesTheValueOfTheStandard) {
  const Key key = key_of(from_hex("25629347589242761d31f826ba4b757b"));
  const auto bytes = from_hex("4f4f95668c83dfb6401762bb2d01a262d1a24ddd2721d006bbe45f20d3c9f362");
  const Value wanted = block_of(from_hex("f7a3b47b846119fae5b7866cf5e5b77e"));
  EXPECT_EQ(under(key).update({}, bytes), wanted);
  EXPECT_EQ(slow_value(key, bytes), wanted);
}

TEST_P(PolyvalTest, GivesTheValueOfTheDefinitionForAnyLength) {
  const auto content = samples::noise(9'000, 71);
  EXPECT_TRUE(rc::check("as one bit at a time", [&] {
    const auto at = *samples::between<std::size_t>(0, 100);
    const auto length = *samples::between<std::size_t>(0, 8'000);
    const Key key = key_of(samples::noise(16, *rc::gen::arbitrary<std::uint32_t>()));
    const auto bytes = base::ByteView(content).subspan(at, length);
    RC_ASSERT(under(key).update({}, bytes) == slow_value(key, bytes));
  }));
}

TEST_P(PolyvalTest, GoesOnFromWholeBlocks) {
  const auto content = samples::noise(9'000, 72);
  const Key key = key_of(samples::noise(16, 73));
  EXPECT_TRUE(rc::check("cut anywhere", [&] {
    const auto length = *samples::between<std::size_t>(0, content.size());
    const std::size_t cut =
        *samples::between<std::size_t>(0, length / Polyval::kBlockBytes + 1) * Polyval::kBlockBytes;
    const auto bytes = base::ByteView(content).first(length);
    const Value first = under(key).update({}, bytes.first(cut));
    RC_ASSERT(under(key).update(first, bytes.subspan(cut)) == under(key).update({}, bytes));
  }));
}

INSTANTIATE_TEST_SUITE_P(Ways, PolyvalTest,
                         testing::Values(Polyval::Way::Plain, Polyval::Way::OneBlock,
                                         Polyval::Way::FourBlocks));

}  // namespace
}  // namespace ron::volume
