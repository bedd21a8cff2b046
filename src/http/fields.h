// The fields of a head: a fixed table of views, quick slots for the fields handlers ask for, and
// the framing derived from them. Shared by requests (head.h) and responses (response_head.h).
//
// Everything is a view into the caller's buffer and dies with it. A MessageHead is about 2 KiB and
// made to be reused: one per connection, filled again for every message, without allocating.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/limits.h"
#include "http/head_scanner.h"
#include "http/refusal.h"

namespace ron::http {

struct Field {
  std::string_view name;
  std::string_view value;
};

// Fields with a slot of their own. All of them are end-to-end or framing fields, so a Connection
// header that names one is an attack and is refused, and none may come as a trailer.
enum class KnownField : std::uint8_t {
  Host,
  Connection,
  ContentLength,
  TransferEncoding,
  Expect,
  Range,
  IfRange,
  IfMatch,
  IfNoneMatch,
  Authorization,
  ContentEncoding,
  ContentType,
  Accept,
  AcceptEncoding,
  CorrelationId,
  RequestTimeout,
  Deadline,
  Unknown,  // last: also the number of known fields
};

// `name` must be a token.
KnownField known_field(std::string_view name) noexcept;

class FieldTable {
 public:
  [[nodiscard]] std::span<const Field> fields() const noexcept { return {fields_.data(), count_}; }

  // The first field of that name, whatever its case; nothing when absent (an empty value is
  // present).
  [[nodiscard]] std::optional<std::string_view> find(std::string_view name) const noexcept;

  // The same through the slot, in constant time.
  [[nodiscard]] std::optional<std::string_view> get(KnownField field) const noexcept {
    const std::uint8_t slot = slots_[index(field)];
    if (slot == 0) return std::nullopt;
    return fields_[slot - 1u].value;
  }
  [[nodiscard]] bool has(KnownField field) const noexcept { return slots_[index(field)] != 0; }
  // More than one line of this name arrived; for_each sees them all.
  [[nodiscard]] bool repeated(KnownField field) const noexcept {
    return (repeated_ & (1u << index(field))) != 0;
  }

  // Calls `visit(value)` for each line of the field, in order.
  template <class Visit>
  void for_each(KnownField field, Visit&& visit) const {
    if (!has(field)) return;
    if (!repeated(field)) {
      visit(fields_[slots_[index(field)] - 1u].value);
      return;
    }
    for (const Field& each : fields()) {
      if (known_field(each.name) == field) visit(each.value);
    }
  }

  // Parses one line without its CRLF and adds it. Refused: empty or non-token names, space before
  // the colon, folded lines, a 65th field, a second line of a field that has one value only.
  Checked<> add_line(std::string_view line) noexcept;

  void clear() noexcept {
    count_ = 0;
    repeated_ = 0;
    slots_.fill(0);
  }

 private:
  static constexpr std::size_t kKnown = static_cast<std::size_t>(KnownField::Unknown);
  static_assert(kKnown <= 32 && base::limits::kHeadFields < 256);

  static constexpr std::size_t index(KnownField field) noexcept {
    return static_cast<std::size_t>(field);
  }

  std::uint32_t count_ = 0;
  std::uint32_t repeated_ = 0;                // bit per known field
  std::array<std::uint8_t, kKnown> slots_{};  // position + 1 in fields_, 0 when absent
  std::array<Field, base::limits::kHeadFields> fields_;
};

// What both kinds of message say about themselves and their bodies.
struct MessageHead : FieldTable {
  std::uint8_t minor = 1;                       // HTTP/1.minor
  std::optional<std::uint64_t> content_length;  // never together with chunked
  bool chunked = false;
  bool keep_alive = false;

 protected:
  // Fills the table from the lines [first, last) of the scanner and digests the framing.
  Checked<> digest(std::string_view buffer, const HeadScanner& scanner, std::size_t first,
                   std::size_t last) noexcept;

 private:
  Checked<> digest_length() noexcept;
  Checked<> digest_transfer_coding() noexcept;
  Checked<> digest_connection() noexcept;
};

enum class VersionKind : std::uint8_t { Supported, Unsupported, Garbage };
// `HTTP/1.0` and `HTTP/1.1` are supported and set `minor`; any other HTTP/digit.digit is
// unsupported.
VersionKind parse_version(std::string_view text, std::uint8_t& minor) noexcept;

}  // namespace ron::http
