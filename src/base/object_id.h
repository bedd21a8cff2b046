// ObjectId: the address of content, `b3:` and the BLAKE3-256 of the plain bytes in hex.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>

#include "base/result.h"

namespace ron::base {

class ObjectId {
 public:
  static constexpr std::size_t kBytes = 32;
  static constexpr std::size_t kTextLength = 3 + 2 * kBytes;

  ObjectId() = default;
  explicit ObjectId(const std::array<std::byte, kBytes>& digest) noexcept : digest_(digest) {}

  // Accepts `b3:` and 64 hex digits of either case; anything else is BadAddress.
  static Result<ObjectId> parse(std::string_view text);

  // `b3:` and 64 lower-case hex digits.
  [[nodiscard]] std::string text() const;
  [[nodiscard]] const std::array<std::byte, kBytes>& digest() const noexcept { return digest_; }

  // The digest is uniform already: eight of its bytes are a hash.
  [[nodiscard]] std::size_t hash() const noexcept {
    std::size_t value = 0;
    std::memcpy(&value, digest_.data(), sizeof value);
    return value;
  }

  friend auto operator<=>(const ObjectId&, const ObjectId&) = default;

 private:
  std::array<std::byte, kBytes> digest_{};
};

struct ObjectIdHash {
  std::size_t operator()(const ObjectId& id) const noexcept { return id.hash(); }
};

}  // namespace ron::base
