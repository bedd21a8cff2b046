// Reading the frames of one segment file in order, whatever state it is in.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "base/buffer.h"
#include "base/result.h"
#include "chain/frame.h"
#include "platform/disk.h"
#include "platform/task.h"

namespace ron::chain {

// A frame whose head checks.
struct FoundFrame {
  FrameHead head;
  std::uint64_t offset = 0;
  bool sound = false;    // all of it is there and checks; of a scan of heads: all of it is there
  base::ByteView bytes;  // of a sound one; valid until the scan goes on
  [[nodiscard]] std::uint64_t end() const noexcept { return offset + head.stored_bytes(); }
};

// A place where no head checks is skipped up to the next one that does; the caller sees it by the
// offsets. One task at a time. It holds one window of kWindowBytes, or of the largest frame met.
class FrameScanner {
 public:
  static constexpr std::size_t kWindowBytes = 1 * base::kMiB;
  enum class Depth : std::uint8_t { Heads, Bytes };

  // Frames that start at or behind `begin` and before `end`, which is not beyond the file's.
  FrameScanner(std::shared_ptr<platform::File> file, const LogIdentity& log, std::uint64_t segment,
               std::uint64_t begin, std::uint64_t end, Depth depth);

  // The next frame, or nothing at the end; an error of the disk. Cancel-safe in that a scan may be
  // dropped anywhere.
  platform::Task<base::Result<std::optional<FoundFrame>>> next();

 private:
  [[nodiscard]] bool covers(std::size_t bytes) const noexcept;
  platform::Task<base::Result<void>> fill_window(std::size_t bytes);
  [[nodiscard]] base::ByteView window() const noexcept;

  const std::shared_ptr<platform::File> file_;
  FrameSpot spot_;  // where the scan is
  const std::uint64_t end_;
  const Depth depth_;
  base::Buffer window_;
  std::uint64_t window_offset_ = 0;
};

}  // namespace ron::chain
