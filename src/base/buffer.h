// Buffer: owned bytes, move-only, aligned for direct I/O. Contents are uninitialised until written.
#pragma once

#include <cstddef>
#include <memory>
#include <new>

#include "base/bytes.h"

namespace ron::base {

class Buffer {
 public:
  static constexpr std::size_t kAlignment = 4096;

  Buffer() = default;
  explicit Buffer(std::size_t bytes)
      : data_(static_cast<std::byte*>(::operator new(bytes, std::align_val_t(kAlignment)))),
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
  struct Free {
    void operator()(std::byte* data) const noexcept {
      ::operator delete(data, std::align_val_t(kAlignment));
    }
  };
  std::unique_ptr<std::byte, Free> data_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace ron::base
