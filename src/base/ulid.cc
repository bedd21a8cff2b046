#include "base/ulid.h"

namespace ron::base {
namespace {

constexpr std::string_view kCrockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
constexpr std::size_t kTimeLength = 10;  // characters of the text that hold the time

constexpr std::array<std::int8_t, 256> kValue = [] {
  std::array<std::int8_t, 256> table{};
  table.fill(-1);
  for (std::size_t i = 0; i < kCrockford.size(); ++i) {
    const char upper = kCrockford[i];
    table[static_cast<unsigned char>(upper)] = static_cast<std::int8_t>(i);
    if (upper >= 'A')
      table[static_cast<unsigned char>(upper - 'A' + 'a')] = static_cast<std::int8_t>(i);
  }
  return table;
}();

}  // namespace

Ulid::Ulid(std::uint64_t unix_ms, std::uint16_t random_high, std::uint64_t random_low) noexcept
    : text_() {
  std::uint64_t time = unix_ms;
  for (std::size_t i = kTimeLength; i-- > 0;) {
    text_[i] = kCrockford[time & 31U];
    time >>= 5;
  }
  // 80 random bits as 16 characters: the low 64 bits give twelve whole ones and four bits of the
  // next.
  std::uint64_t low = random_low;
  for (std::size_t i = 26; i-- > 14;) {
    text_[i] = kCrockford[low & 31U];
    low >>= 5;
  }
  std::uint32_t high =
      (static_cast<std::uint32_t>(random_high) << 4) | static_cast<std::uint32_t>(low);
  for (std::size_t i = 14; i-- > kTimeLength;) {
    text_[i] = kCrockford[high & 31U];
    high >>= 5;
  }
}

std::optional<Ulid> Ulid::parse(std::string_view text) noexcept {
  if (text.size() != kTextLength || text[0] > '7') return std::nullopt;
  Ulid id;
  for (std::size_t i = 0; i < kTextLength; ++i) {
    const int value = kValue[static_cast<unsigned char>(text[i])];
    if (value < 0) return std::nullopt;
    id.text_[i] = kCrockford[static_cast<std::size_t>(value)];
  }
  return id;
}

std::uint64_t Ulid::unix_ms() const noexcept {
  std::uint64_t time = 0;
  for (const char c : text().substr(0, kTimeLength)) {
    time = (time << 5) | static_cast<std::uint64_t>(kValue[static_cast<unsigned char>(c)]);
  }
  return time;
}

}  // namespace ron::base
