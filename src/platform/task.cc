#include "platform/task.h"

#include <array>
#include <cstdlib>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define RON_PLAIN_FRAMES 1
#endif
#endif

namespace ron::platform {

#ifdef RON_PLAIN_FRAMES

// Sanitizers see every frame as its own allocation.
void* allocate_frame(std::size_t bytes) { return ::operator new(bytes); }
void release_frame(void* frame, std::size_t) noexcept { ::operator delete(frame); }

#else

namespace {

constexpr std::size_t kStep = 128;          // size classes are multiples of this
constexpr std::size_t kClasses = 32;        // frames above kStep * kClasses go to the heap
constexpr std::size_t kKeptPerClass = 256;  // bounds what an idle thread keeps

struct FreeFrame {
  FreeFrame* next;
};

struct FramePool {
  std::array<FreeFrame*, kClasses> free{};
  std::array<std::size_t, kClasses> kept{};

  FramePool() = default;
  FramePool(const FramePool&) = delete;
  FramePool& operator=(const FramePool&) = delete;
  ~FramePool() {
    for (FreeFrame* frame : free) {
      while (frame != nullptr) ::operator delete(std::exchange(frame, frame->next));
    }
  }
};

thread_local FramePool pool;

constexpr std::size_t size_class(std::size_t bytes) { return (bytes + kStep - 1) / kStep - 1; }

}  // namespace

void* allocate_frame(std::size_t bytes) {
  const std::size_t index = size_class(bytes);
  if (index >= kClasses) return ::operator new(bytes);
  FreeFrame*& head = pool.free[index];
  if (head == nullptr) return ::operator new((index + 1) * kStep);
  --pool.kept[index];
  return std::exchange(head, head->next);
}

void release_frame(void* frame, std::size_t bytes) noexcept {
  const std::size_t index = size_class(bytes);
  if (index >= kClasses || pool.kept[index] >= kKeptPerClass) {
    ::operator delete(frame);
    return;
  }
  ++pool.kept[index];
  pool.free[index] = new (frame) FreeFrame{pool.free[index]};
}

#endif

}  // namespace ron::platform
