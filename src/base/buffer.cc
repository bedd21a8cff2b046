#include "base/buffer.h"

#include <array>
#include <bit>
#include <new>
#include <utility>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define RON_PLAIN_BUFFERS 1
#endif
#endif

namespace ron::base::detail {
namespace {

constexpr std::align_val_t kAlignment{Buffer::kPageBytes};

[[maybe_unused]] constexpr std::size_t round_up(std::size_t bytes, std::size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

std::byte* fresh(std::size_t room) {
  return static_cast<std::byte*>(::operator new(room, kAlignment));
}

}  // namespace

#ifdef RON_PLAIN_BUFFERS

// Sanitizers see every buffer as its own allocation of exactly its size.
std::byte* take_pages(std::size_t bytes, std::size_t& room) {
  room = bytes;
  return fresh(bytes);
}
void give_pages(std::byte* data, std::size_t) noexcept { ::operator delete(data, kAlignment); }

#else

namespace {

// Four sizes between two powers of two, so that at most a quarter is wasted; from a quarter of a
// group to the largest body.
constexpr unsigned kSmallestLog = 14;
constexpr unsigned kLargestLog = 23;
constexpr std::size_t kSteps = 4;
constexpr std::size_t kClasses = (kLargestLog - kSmallestLog + 1) * kSteps;
constexpr std::size_t kSmallest = std::size_t{1} << kSmallestLog;
constexpr std::size_t kLargest = std::size_t{1} << kLargestLog;
static_assert(kSmallest / kSteps % Buffer::kPageBytes == 0);
static_assert(kLargest <= Buffer::kKeptBytes);

// The size actually taken for `bytes`: a class, or whole pages.
constexpr std::size_t room_for(std::size_t bytes) {
  if (bytes < kSmallest || bytes > kLargest) return round_up(bytes, Buffer::kPageBytes);
  return round_up(bytes, std::bit_floor(bytes) / kSteps);
}

// Which list a block of this room belongs to; kClasses: none.
constexpr std::size_t class_of(std::size_t room) {
  if (room < kSmallest || room > kLargest) return kClasses;
  const auto log = static_cast<unsigned>(std::bit_width(room)) - 1;
  const std::size_t step = std::bit_floor(room) / kSteps;
  return (log - kSmallestLog) * kSteps + (room - std::bit_floor(room)) / step;
}
static_assert(class_of(kLargest) < kClasses);

struct FreeBlock {
  FreeBlock* next;
};

struct Kept {
  std::array<FreeBlock*, kClasses> free{};
  std::size_t bytes = 0;

  Kept() = default;
  Kept(const Kept&) = delete;
  Kept& operator=(const Kept&) = delete;
  ~Kept() {
    for (FreeBlock* block : free) {
      while (block != nullptr) ::operator delete(std::exchange(block, block->next), kAlignment);
    }
    bytes = Buffer::kKeptBytes;  // what this thread frees from now on is not kept
  }
};

thread_local Kept kept;

}  // namespace

std::byte* take_pages(std::size_t bytes, std::size_t& room) {
  room = room_for(bytes);
  const std::size_t index = class_of(room);
  if (index == kClasses || kept.free[index] == nullptr) return fresh(room);
  kept.bytes -= room;
  return reinterpret_cast<std::byte*>(std::exchange(kept.free[index], kept.free[index]->next));
}

void give_pages(std::byte* data, std::size_t room) noexcept {
  const std::size_t index = class_of(room);
  if (index == kClasses || kept.bytes + room > Buffer::kKeptBytes) {
    ::operator delete(data, kAlignment);
    return;
  }
  kept.bytes += room;
  kept.free[index] = new (data) FreeBlock{kept.free[index]};
}

#endif

}  // namespace ron::base::detail
