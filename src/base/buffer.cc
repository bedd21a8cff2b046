#include "base/buffer.h"

#include <array>
#include <bit>
#include <mutex>
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

const bool kRecycling = false;

// Exactly its size, so that a sanitizer notices the first byte behind it.
std::byte* take_pages(std::size_t bytes, std::size_t& room) {
  room = bytes;
  return fresh(bytes);
}
void give_pages(std::byte* data, std::size_t) noexcept { ::operator delete(data, kAlignment); }

#else

const bool kRecycling = true;

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

// Free blocks by class, up to a number of bytes. Not locked.
class Shelf {
 public:
  explicit constexpr Shelf(std::size_t cap_bytes) : cap_bytes_(cap_bytes) {}

  // False when it does not fit any more.
  bool put(std::byte* data, std::size_t room, std::size_t index) noexcept {
    if (bytes_ + room > cap_bytes_) return false;
    bytes_ += room;
    free_[index] = new (data) FreeBlock{free_[index]};
    return true;
  }
  // Null when there is none.
  std::byte* take(std::size_t room, std::size_t index) noexcept {
    if (free_[index] == nullptr) return nullptr;
    bytes_ -= room;
    return reinterpret_cast<std::byte*>(std::exchange(free_[index], free_[index]->next));
  }
  // Frees all and takes nothing from now on.
  void close() noexcept {
    cap_bytes_ = 0;
    for (FreeBlock*& block : free_) {
      while (block != nullptr) ::operator delete(std::exchange(block, block->next), kAlignment);
    }
    bytes_ = 0;
  }

 private:
  std::array<FreeBlock*, kClasses> free_{};
  std::size_t bytes_ = 0;
  std::size_t cap_bytes_;
};

struct Kept {
  Shelf shelf{Buffer::kKeptBytes};

  Kept() = default;
  Kept(const Kept&) = delete;
  Kept& operator=(const Kept&) = delete;
  ~Kept() { shelf.close(); }
};

thread_local Kept kept;

// What threads have no room for waits here for threads that have none. Never destroyed: a thread
// may outlive the statics.
struct Shared {
  std::mutex mutex;
  Shelf shelf{Buffer::kSharedBytes};
};
constinit Shared shared;

}  // namespace

std::byte* take_pages(std::size_t bytes, std::size_t& room) {
  room = room_for(bytes);
  const std::size_t index = class_of(room);
  if (index == kClasses) return fresh(room);
  std::byte* block = kept.shelf.take(room, index);
  if (block == nullptr) {
    const std::lock_guard lock(shared.mutex);
    block = shared.shelf.take(room, index);
  }
  return block != nullptr ? block : fresh(room);
}

void give_pages(std::byte* data, std::size_t room) noexcept {
  const std::size_t index = class_of(room);
  bool is_kept = index != kClasses && kept.shelf.put(data, room, index);
  if (!is_kept && index != kClasses) {
    const std::lock_guard lock(shared.mutex);
    is_kept = shared.shelf.put(data, room, index);
  }
  if (!is_kept) ::operator delete(data, kAlignment);
}

#endif

}  // namespace ron::base::detail
