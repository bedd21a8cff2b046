// Representation: verified bytes with the header lines that describe them, ready to be sent.
// Immutable; shared by whoever sends it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/buffer.h"
#include "base/units.h"
#include "http/conditional.h"
#include "http/request.h"
#include "http/response.h"
#include "http/selection.h"
#include "platform/send_memory.h"

namespace ron::kit {

class Representation {
 public:
  // Below this a copy is cheaper than sending by reference, and the heap wastes less.
  static constexpr std::size_t kArenaBytes = 32 * base::kKiB;

  // `tag` is the entity-tag without quotes, which `lines` say with them. Large bytes move to the
  // arena if it has room.
  Representation(std::string tag, std::string lines, base::Buffer bytes,
                 platform::SendArena& arena);

  [[nodiscard]] base::ByteView bytes() const noexcept {
    return memory ? framed().subspan(header_lines.size() + 2) : heap_.view();
  }
  // Header lines, the empty line and the bytes in one piece of `memory`; empty when they are on the
  // heap.
  [[nodiscard]] base::ByteView framed() const noexcept { return memory.bytes(); }
  [[nodiscard]] http::EntityTag entity_tag() const noexcept { return {tag, false}; }
  // What it costs in memory.
  [[nodiscard]] std::size_t footprint() const noexcept;

  platform::SendMemory memory;  // empty: the bytes are on the heap
  std::string tag;
  std::string header_lines;  // `Name: value\r\n` each

 private:
  base::Buffer heap_;
};

using RepresentationPtr = std::shared_ptr<const Representation>;

// The head of the answer to a request for something of `length`, as it was decided; a refusal is
// the whole answer.
http::Response head_for(const http::Request& request, const http::Selection& selection,
                        std::uint64_t length);
// 304 carries validators and caching rules like a 200 would.
bool describes_it(const http::Selection& selection) noexcept;

// The answer from memory: conditions and range as the request has them, or as they were decided.
http::Response answer(const http::Request& request, const RepresentationPtr& found);
http::Response answer(const http::Request& request, const RepresentationPtr& found,
                      const http::Selection& selection);

}  // namespace ron::kit
