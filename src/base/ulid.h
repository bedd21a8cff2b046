// ULIDs: 48 bits of Unix milliseconds and 80 random bits in Crockford base 32, 26 characters.
// Used as correlation ids; sortable by time in logs.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace ron::base {

class Ulid {
 public:
  static constexpr std::size_t kTextLength = 26;

  Ulid() : Ulid(0, 0, 0) {}
  Ulid(std::uint64_t unix_ms, std::uint16_t random_high, std::uint64_t random_low) noexcept;

  // 26 characters of either case whose value fits 128 bits; kept as given in upper case.
  static std::optional<Ulid> parse(std::string_view text) noexcept;

  // The time in it, which is when it was made.
  [[nodiscard]] std::uint64_t unix_ms() const noexcept;
  [[nodiscard]] std::string_view text() const noexcept { return {text_.data(), text_.size()}; }
  friend bool operator==(const Ulid&, const Ulid&) = default;

 private:
  std::array<char, kTextLength> text_;
};

}  // namespace ron::base
