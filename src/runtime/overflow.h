// The fixed vocabulary for what happens when a bounded channel is full.
#pragma once

#include <cstdint>
#include <string_view>

namespace ron::runtime {

enum class Overflow : std::uint8_t {
  RejectNew,   // the sender gets its value back and tells its client
  DropOldest,  // the oldest value makes room
  Wait,        // the sender waits for room, under its deadline
  Latest,      // one slot: the last write wins
};

constexpr std::string_view name(Overflow overflow) noexcept {
  switch (overflow) {
    case Overflow::RejectNew:
      return "reject-new";
    case Overflow::DropOldest:
      return "drop-oldest";
    case Overflow::Wait:
      return "wait";
    case Overflow::Latest:
      return "latest";
  }
  return "";
}

}  // namespace ron::runtime
