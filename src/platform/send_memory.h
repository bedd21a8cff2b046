// SendMemory: bytes a stream can send without copying them, and the arena they come from.
//
// A kernel that sends by reference keeps reading the pages after the call has returned: until the
// peer has everything, and on one machine until the peer has read it. So memory that was ever sent
// must not be written again; the arena gives freed pages back to the kernel and takes fresh ones
// instead of reusing them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/bytes.h"

namespace ron::platform {

class SendArena;

// Owned by one holder. Written once, before it is first sent; immutable afterwards. Must not
// outlive its arena.
class SendMemory {
 public:
  SendMemory() = default;
  SendMemory(SendArena* arena, base::MutableBytes bytes, int descriptor,
             std::uint64_t offset) noexcept
      : arena_(arena), bytes_(bytes), descriptor_(descriptor), offset_(offset) {}
  SendMemory(SendMemory&& other) noexcept { swap(other); }
  SendMemory& operator=(SendMemory&& other) noexcept {
    swap(other);
    return *this;
  }
  inline ~SendMemory();

  explicit operator bool() const noexcept { return arena_ != nullptr; }
  [[nodiscard]] base::ByteView bytes() const noexcept { return bytes_; }
  [[nodiscard]] base::MutableBytes writable() noexcept { return bytes_; }
  // Where the kernel finds the bytes; -1 where it cannot send by reference.
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  [[nodiscard]] std::uint64_t offset() const noexcept { return offset_; }

 private:
  void swap(SendMemory& other) noexcept {
    std::swap(arena_, other.arena_);
    std::swap(bytes_, other.bytes_);
    std::swap(descriptor_, other.descriptor_);
    std::swap(offset_, other.offset_);
  }

  SendArena* arena_ = nullptr;
  base::MutableBytes bytes_;
  int descriptor_ = -1;
  std::uint64_t offset_ = 0;
};

// Any thread.
class SendArena {
 public:
  SendArena() = default;
  SendArena(const SendArena&) = delete;
  SendArena& operator=(const SendArena&) = delete;
  virtual ~SendArena() = default;

  // An empty SendMemory when the limit is reached or this machine has no such memory: use the heap
  // then.
  virtual SendMemory allocate(std::size_t bytes) = 0;
  // What may be taken from the kernel; takes effect for the next allocation.
  virtual void set_limit(std::uint64_t bytes) noexcept = 0;
  // What is taken from the kernel now, holes included.
  [[nodiscard]] virtual std::uint64_t reserved_bytes() const noexcept = 0;

 private:
  friend class SendMemory;
  virtual void release(const SendMemory& memory) noexcept = 0;
};

SendMemory::~SendMemory() {
  if (arena_ != nullptr) arena_->release(*this);
}

// The arena of worlds without such memory.
class NoSendArena final : public SendArena {
 public:
  SendMemory allocate(std::size_t) override { return {}; }
  void set_limit(std::uint64_t) noexcept override {}
  [[nodiscard]] std::uint64_t reserved_bytes() const noexcept override { return 0; }

 private:
  void release(const SendMemory&) noexcept override {}
};

}  // namespace ron::platform
