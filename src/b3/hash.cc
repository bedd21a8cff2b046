#include "b3/hash.h"

#include <cstdint>
#include <new>
#include <type_traits>

#include <blake3.h>

namespace ron::b3 {

namespace {

base::ObjectId finish_state(const blake3_hasher& state) noexcept {
  std::array<std::byte, base::ObjectId::kBytes> digest;
  blake3_hasher_finalize(&state, reinterpret_cast<std::uint8_t*>(digest.data()), digest.size());
  return base::ObjectId(digest);
}

blake3_hasher* state_in(std::byte* storage) noexcept {
  return std::launder(reinterpret_cast<blake3_hasher*>(storage));
}
const blake3_hasher* state_in(const std::byte* storage) noexcept {
  return std::launder(reinterpret_cast<const blake3_hasher*>(storage));
}

}  // namespace

base::ObjectId hash(base::ByteView bytes) noexcept {
  blake3_hasher state;
  blake3_hasher_init(&state);
  blake3_hasher_update(&state, bytes.data(), bytes.size());
  return finish_state(state);
}

Hasher::Hasher() noexcept {
  static_assert(sizeof(blake3_hasher) <= kStateBytes && alignof(blake3_hasher) <= 8);
  static_assert(std::is_trivially_copyable_v<blake3_hasher>, "copying a Hasher copies the bytes");
  blake3_hasher_init(new (state_.data()) blake3_hasher);
}

Hasher& Hasher::update(base::ByteView bytes) noexcept {
  blake3_hasher_update(state_in(state_.data()), bytes.data(), bytes.size());
  return *this;
}

base::ObjectId Hasher::finish() const noexcept { return finish_state(*state_in(state_.data())); }

}  // namespace ron::b3
