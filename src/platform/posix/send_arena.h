// MemfdArena: a sealed-off file in memory, cut into 2 MiB blocks that are huge pages where the
// kernel gives them. sendfile() from it moves page references instead of bytes.
//
// Blocks are filled front to back and given back whole when the last piece in them is gone. Giving
// back punches the block out of the file: pages still on their way to a peer live on until they are
// read, and the next user of the block gets fresh ones. A block in use is never punched in part,
// because the kernel would zero that part in place.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <set>
#include <vector>

#include "base/units.h"
#include "platform/posix/descriptor.h"
#include "platform/send_memory.h"

namespace ron::platform::posix {

class MemfdArena final : public SendArena {
 public:
  static constexpr std::size_t kBlockBytes = 2 * base::kMiB;
  static constexpr std::size_t kBlocks =
      32 * 1024;  // 64 GiB of addresses; memory is taken block by block

  explicit MemfdArena(std::uint64_t limit_bytes);
  ~MemfdArena() override;

  SendMemory allocate(std::size_t bytes) override;
  void set_limit(std::uint64_t bytes) noexcept override {
    limit_.store(bytes, std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t reserved_bytes() const noexcept override {
    return reserved_.load(std::memory_order_relaxed);
  }

 private:
  void release(const SendMemory& memory) noexcept override;
  // The first of `count` neighbouring free blocks, taken from the kernel; kBlocks when there are
  // none.
  std::size_t take_blocks(std::size_t count);
  void fill_with_huge_page(std::size_t block) noexcept;
  void give_back(std::size_t block) noexcept;

  Descriptor file_;
  std::byte* base_ = nullptr;  // null: this machine has no such memory
  std::atomic<std::uint64_t> limit_;
  std::atomic<std::uint64_t> reserved_ = 0;

  std::mutex mutex_;
  std::vector<std::uint32_t> live_;  // pieces per block; guarded by mutex_, as the rest
  std::set<std::uint32_t> free_;     // blocks below fresh_ that are free
  std::size_t fresh_ = 0;            // blocks from here on were never used
  std::size_t open_ = kBlocks;       // the block being filled
  std::size_t open_used_ = 0;
};

}  // namespace ron::platform::posix
