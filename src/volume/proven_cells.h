// ProvenCells: remembers which bytes were checked against their address, so that reading them again
// need not hash them again.
//
// Bytes that were hashed leave a fingerprint for each cell of 16 KiB, under a secret key
// (polyval.h) made anew by each process and never written down. When a cell is read again, bytes
// with the same fingerprint are the bytes that were hashed: every byte is still looked at each
// time, a flipped bit on the medium or a forged file is still noticed (but for one chance in 2^86),
// in a fraction of the time, and what is read for a range is little more than the range. Bytes with
// another fingerprint are not judged here: their hash decides.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>

#include "b3/geometry.h"
#include "base/bytes.h"
#include "base/object_id.h"
#include "base/units.h"
#include "platform/random.h"
#include "volume/polyval.h"

namespace ron::volume {

inline constexpr std::uint64_t kCellBytes = 16 * base::kKiB;
// What is no longer than this is hashed in about the time it takes to look something up in a large
// table, and there may be millions of it: it is not remembered.
inline constexpr std::uint64_t kForgottenBytes = 4 * base::kKiB;
static_assert(b3::kGroupBytes % kCellBytes == 0);

// A cell, counted from the beginning of what has this hash and this length: an object, or a part at
// its place in one.
struct CellName {
  std::array<std::byte, base::ObjectId::kBytes> hash;
  std::uint64_t length;
  std::uint64_t cell;
};

// A table of fixed size in which the new takes the place of the old. Any thread, without a lock: of
// an entry that two write at once each may leave a half, which proves nothing.
class ProvenCells {
 public:
  // Whether a fingerprint is quicker than a hash on this machine.
  static bool worthwhile() noexcept { return Polyval::best() != Polyval::Way::Plain; }

  // Too few bytes for anything: nothing is ever remembered.
  ProvenCells(platform::Random& random, std::size_t bytes);
  ProvenCells(const ProvenCells&) = delete;
  ProvenCells& operator=(const ProvenCells&) = delete;

  // Whether it is worth asking. Not a proof.
  [[nodiscard]] bool knows(const CellName& name) const noexcept;
  // Whether these are the bytes that were added under this name.
  [[nodiscard]] bool proves(const CellName& name, base::ByteView bytes) const noexcept;
  // `bytes` are that cell, all of it: the caller has hashed them.
  void add(const CellName& name, base::ByteView bytes) noexcept;

 private:
  // Four to a line of the processor's cache: 32 bits of the name, 96 of the fingerprint.
  struct Entry {
    std::uint64_t name_and_high = 0;  // 0: free
    std::uint64_t low = 0;
  };
  static constexpr std::size_t kWays = 4;
  static constexpr std::size_t kLineBytes = kWays * sizeof(Entry);
  struct Free {
    void operator()(void* memory) const noexcept { std::free(memory); }
  };

  [[nodiscard]] Entry* line_of(const CellName& name) const noexcept;
  [[nodiscard]] Entry entry_for(const CellName& name, base::ByteView bytes) const noexcept;

  Polyval fingerprint_;
  std::uint64_t lines_;
  std::unique_ptr<void, Free> memory_;
  Entry* entries_ = nullptr;
};

}  // namespace ron::volume
