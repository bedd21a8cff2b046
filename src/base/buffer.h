// Buffer: owned bytes, move-only; from one page on, aligned for direct I/O. Contents are
// uninitialised until written.
//
// Large buffers are recycled: what bodies and reads use comes and goes thousands of times a second,
// and fresh pages from the kernel cost more than filling them. Each thread keeps at most
// kKeptBytes, and all together kSharedBytes more: a body is taken where it arrives and given back
// where it was written, often on another core.
#pragma once

#include <cstddef>
#include <memory>

#include "base/bytes.h"

namespace ron::base {

namespace detail {

// Not under sanitizers, which see every buffer as an allocation of its own.
extern const bool kRecycling;

// Page-aligned memory of at least `bytes`; `room` says how much it really is.
std::byte* take_pages(std::size_t bytes, std::size_t& room);
void give_pages(std::byte* data, std::size_t room) noexcept;

struct FreeBuffer {
  std::size_t room = 0;  // 0: plain heap memory
  void operator()(std::byte* data) const noexcept {
    if (room == 0) {
      ::operator delete(data);
    } else {
      give_pages(data, room);
    }
  }
};

}  // namespace detail

class Buffer {
 public:
  static constexpr std::size_t kPageBytes = 4096;
  // What a thread keeps for later at most.
  static constexpr std::size_t kKeptBytes = std::size_t{8} << 20;
  // What the process keeps besides, for all threads.
  static constexpr std::size_t kSharedBytes = std::size_t{32} << 20;

  Buffer() = default;
  explicit Buffer(std::size_t bytes) : data_(allocate(bytes)), size_(bytes), capacity_(bytes) {}

  [[nodiscard]] std::byte* data() noexcept { return data_.get(); }
  [[nodiscard]] const std::byte* data() const noexcept { return data_.get(); }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }
  [[nodiscard]] ByteView view() const noexcept { return {data(), size_}; }
  [[nodiscard]] MutableBytes span() noexcept { return {data(), size_}; }

  // Changes the size within the capacity; the bytes stay.
  void resize(std::size_t bytes) noexcept { size_ = bytes < capacity_ ? bytes : capacity_; }

 private:
  using Memory = std::unique_ptr<std::byte, detail::FreeBuffer>;

  static Memory allocate(std::size_t bytes) {
    if (bytes < kPageBytes) return Memory(static_cast<std::byte*>(::operator new(bytes)), {});
    std::size_t room = 0;
    std::byte* const data = detail::take_pages(bytes, room);
    return Memory(data, {room});
  }

  Memory data_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace ron::base
