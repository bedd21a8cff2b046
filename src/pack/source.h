// Source: bytes that are read where reading may wait: on a thread of the blocking pool.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "base/result.h"

namespace ron::pack {

// Any thread that may block. What it hands out never changes.
class Source {
 public:
  Source() = default;
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;
  virtual ~Source() = default;

  [[nodiscard]] virtual std::uint64_t size() const noexcept = 0;
  // Fills `into` from `offset`; Malformed when that reaches past the end.
  virtual base::Result<void> fill(std::uint64_t offset, base::MutableBytes into) = 0;
};

}  // namespace ron::pack
