// Which bytes of a stored thing a GET or HEAD is answered with: its conditions first, then its
// range, RFC 9110 §13.2.2. Decided once, from the entity-tag and the length alone. Pure functions.
#pragma once

#include <cstdint>

#include "http/conditional.h"
#include "http/head.h"

namespace ron::http {

struct Selection {
  enum class Kind : std::uint8_t {
    Whole,               // 200
    Part,                // 206
    NotModified,         // 304
    PreconditionFailed,  // 412
    Malformed,           // 400 BadRange
    Unsatisfiable,       // 416
  };
  Kind kind = Kind::Whole;
  std::uint64_t offset = 0;  // of a Part or of the Whole, as length
  std::uint64_t length = 0;

  // There is something to send, if perhaps no bytes of it.
  [[nodiscard]] bool selects() const noexcept { return kind == Kind::Whole || kind == Kind::Part; }
  friend bool operator==(const Selection&, const Selection&) = default;
};

// `tag` and `length` are of what is stored.
Selection select(const RequestHead& request, const EntityTag& tag, std::uint64_t length) noexcept;

}  // namespace ron::http
