// Object: verified bytes and everything needed to send them. Immutable; shared by whoever sends it.
#pragma once

#include <memory>
#include <string>

#include "base/buffer.h"
#include "base/object_id.h"
#include "base/units.h"
#include "platform/send_memory.h"

namespace ron::storage {

// ETag, Accept-Ranges, Cache-Control, Vary and Content-Type of an object, ready to send.
std::string object_header_lines(const base::ObjectId& id);

class Object {
 public:
  // Below this a copy is cheaper than sending by reference, and the heap wastes less.
  static constexpr std::size_t kArenaBytes = 32 * base::kKiB;

  // `bytes` must have been checked against `id`. Large ones move to the arena if it has room.
  Object(const base::ObjectId& id, base::Buffer bytes, platform::SendArena& arena);

  [[nodiscard]] base::ByteView bytes() const noexcept {
    return memory ? framed().subspan(header_lines.size() + 2) : heap_.view();
  }
  // Header lines, the empty line and the bytes in one piece of `memory`; empty when they are on the
  // heap.
  [[nodiscard]] base::ByteView framed() const noexcept { return memory.bytes(); }

  base::ObjectId id;
  platform::SendMemory memory;  // empty: the bytes are on the heap
  std::string etag;             // "b3:<hex>" with its quotes
  std::string header_lines;     // as object_header_lines

  // What it costs in memory.
  [[nodiscard]] std::size_t footprint() const noexcept;

 private:
  base::Buffer heap_;
};

using ObjectPtr = std::shared_ptr<const Object>;

}  // namespace ron::storage
