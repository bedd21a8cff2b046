#include "base/buffer.h"

#include <array>
#include <bit>
#include <cstdint>
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
  std::size_t room;
  FreeBlock* next;
};

// A list of blocks of any class.
struct Chain {
  FreeBlock* first = nullptr;

  void push(FreeBlock* block) noexcept { block->next = std::exchange(first, block); }
  FreeBlock* pop() noexcept {
    return first == nullptr ? nullptr : std::exchange(first, first->next);
  }
  void free() noexcept {
    while (FreeBlock* const block = pop()) ::operator delete(block, kAlignment);
  }
};

// Free blocks by class, up to a number of bytes. What is put into a full one takes the place of
// blocks nobody has asked for as recently, so that what one kind of work left behind does not keep
// the next from recycling. Not locked.
class Shelf {
 public:
  explicit constexpr Shelf(std::size_t cap_bytes) : cap_bytes_(cap_bytes) {}

  // `out` gets what has no place: blocks that had to go, or this one.
  void put(FreeBlock* block, Chain& out) noexcept {
    const std::size_t index = class_of(block->room);
    while (bytes_ + block->room > cap_bytes_) {
      const std::size_t oldest = least_asked_for();
      const bool is_older = oldest != kClasses && lists_[oldest].asked_at < lists_[index].asked_at;
      if (!is_older) return out.push(block);
      out.push(remove(oldest));
    }
    bytes_ += block->room;
    lists_[index].free.push(block);
  }
  // Null when there is none.
  std::byte* take(std::size_t index) noexcept {
    lists_[index].asked_at = ++asked_;
    return reinterpret_cast<std::byte*>(remove(index));
  }
  // Frees all and takes nothing from now on.
  void close() noexcept {
    cap_bytes_ = 0;
    for (List& list : lists_) list.free.free();
    bytes_ = 0;
  }

 private:
  struct List {
    Chain free;
    std::uint64_t asked_at = 0;
  };

  FreeBlock* remove(std::size_t index) noexcept {
    FreeBlock* const block = lists_[index].free.pop();
    if (block != nullptr) bytes_ -= block->room;
    return block;
  }

  // Of the classes that have a block; kClasses: none has.
  [[nodiscard]] std::size_t least_asked_for() const noexcept {
    std::size_t oldest = kClasses;
    for (std::size_t i = 0; i < kClasses; ++i) {
      if (lists_[i].free.first == nullptr) continue;
      if (oldest == kClasses || lists_[i].asked_at < lists_[oldest].asked_at) oldest = i;
    }
    return oldest;
  }

  std::array<List, kClasses> lists_{};
  std::uint64_t asked_ = 0;
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
  std::byte* block = kept.shelf.take(index);
  if (block == nullptr) {
    const std::lock_guard lock(shared.mutex);
    block = shared.shelf.take(index);
  }
  return block != nullptr ? block : fresh(room);
}

void give_pages(std::byte* data, std::size_t room) noexcept {
  if (class_of(room) == kClasses) return ::operator delete(data, kAlignment);
  Chain spilled;
  kept.shelf.put(new (data) FreeBlock{room, nullptr}, spilled);
  if (spilled.first == nullptr) return;
  Chain gone;
  {
    const std::lock_guard lock(shared.mutex);
    while (FreeBlock* const block = spilled.pop()) shared.shelf.put(block, gone);
  }
  gone.free();
}

#endif

}  // namespace ron::base::detail
