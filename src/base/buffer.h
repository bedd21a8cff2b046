// Buffer: owned bytes, move-only; from one page on, aligned for direct I/O. Contents are
// uninitialised until written.
#pragma once

#include <cstddef>
#include <memory>
#include <new>

#include "base/bytes.h"

namespace ron::base {

namespace detail {

struct AlignedFree {
  std::align_val_t alignment{1};
  void operator()(std::byte* data) const noexcept { ::operator delete(data, alignment); }
};

}  // namespace detail

class Buffer {
 public:
  static constexpr std::size_t kPageBytes = 4096;
  static constexpr std::size_t kSmallAlignment = 16;

  Buffer() = default;
  explicit Buffer(std::size_t bytes)
      : data_(static_cast<std::byte*>(::operator new(bytes, alignment(bytes))),
              detail::AlignedFree{alignment(bytes)}),
        size_(bytes),
        capacity_(bytes) {}

  [[nodiscard]] std::byte* data() noexcept { return data_.get(); }
  [[nodiscard]] const std::byte* data() const noexcept { return data_.get(); }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }
  [[nodiscard]] ByteView view() const noexcept { return {data(), size_}; }
  [[nodiscard]] MutableBytes span() noexcept { return {data(), size_}; }

  // Changes the size within the capacity; the bytes stay.
  void resize(std::size_t bytes) noexcept { size_ = bytes < capacity_ ? bytes : capacity_; }

 private:
  static std::align_val_t alignment(std::size_t bytes) noexcept {
    return std::align_val_t(bytes < kPageBytes ? kSmallAlignment : kPageBytes);
  }
  std::unique_ptr<std::byte, detail::AlignedFree> data_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace ron::base
