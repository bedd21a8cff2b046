// The address of bytes: plain BLAKE3-256, what `b3sum` prints.
#pragma once

#include <array>
#include <cstddef>

#include "base/bytes.h"
#include "base/object_id.h"

namespace ron::b3 {

base::ObjectId hash(base::ByteView bytes) noexcept;

// The same, fed piece by piece.
//
// A plain value of about 2 KB without heap; one thread at a time. Copying forks the state. `finish`
// leaves the state as it is: more bytes may follow and be finished again.
class Hasher {
 public:
  Hasher() noexcept;

  Hasher& update(base::ByteView bytes) noexcept;
  [[nodiscard]] base::ObjectId finish() const noexcept;

 private:
  static constexpr std::size_t kStateBytes = 1912;  // checked against upstream's struct in hash.cc
  alignas(8) std::array<std::byte, kStateBytes> state_;
};

}  // namespace ron::b3
