// Value: a document as a tree, read from and written to JSON or deterministic CBOR.
//
// For documents of people and other machines: requests, changes, descriptors. What is written for
// every entry of a log uses CborWriter and CborReader instead, which need no tree.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace ron::base {

// An integer that is neither a flag nor a character.
template <class T>
concept ValueNumber = std::integral<T> && !std::same_as<T, bool> && !std::same_as<T, char>;

// Value: null, a bool, an integer from -2^63 to 2^64 - 1, text (UTF-8), bytes, an array, or a map
// with text keys. There are no fractions: they do not have one form. Made from what it holds:
//
//   Value(Value::Map{{"kind", "revoke"}, {"signers", Value::Array{"0123456789abcdef"}}, {"n", 2}})
//
// An accessor returns null or nothing when the value is of another kind; what a pointer points to
// lives as long as the value. A plain value, nested at most kMaxDepth deep if it is to be written.
class Value {
 public:
  using Bytes = std::vector<std::byte>;
  using Array = std::vector<Value>;
  using Map = std::map<std::string, Value, std::less<>>;

  // Arrays and maps within each other.
  static constexpr std::size_t kMaxDepth = 63;

  enum class Kind : std::uint8_t { Null, Bool, Unsigned, Negative, Text, Bytes, Array, Map };

  Value() noexcept = default;
  Value(std::nullptr_t) noexcept {}
  Value(std::same_as<bool> auto flag) noexcept : held_(flag) {}
  Value(ValueNumber auto number) noexcept {
    if (std::cmp_less(number, 0)) {
      held_ = static_cast<std::int64_t>(number);
    } else {
      held_ = static_cast<std::uint64_t>(number);
    }
  }
  Value(std::string text) noexcept : held_(std::move(text)) {}
  Value(std::string_view text) : held_(std::string(text)) {}
  Value(const char* text) : held_(std::string(text)) {}
  Value(Bytes bytes) noexcept : held_(std::move(bytes)) {}
  Value(ByteView bytes) : held_(Bytes(bytes.begin(), bytes.end())) {}
  Value(Array items) noexcept : held_(std::move(items)) {}
  Value(Map pairs) noexcept : held_(std::move(pairs)) {}

  [[nodiscard]] Kind kind() const noexcept { return static_cast<Kind>(held_.index()); }
  [[nodiscard]] bool is_null() const noexcept { return kind() == Kind::Null; }
  [[nodiscard]] std::optional<bool> boolean() const noexcept { return copy<bool>(); }
  [[nodiscard]] std::optional<std::uint64_t> unsigned_number() const noexcept {
    return copy<std::uint64_t>();
  }
  // Below zero.
  [[nodiscard]] std::optional<std::int64_t> negative_number() const noexcept {
    return copy<std::int64_t>();
  }
  [[nodiscard]] const std::string* text() const noexcept {
    return std::get_if<std::string>(&held_);
  }
  [[nodiscard]] const Bytes* bytes() const noexcept { return std::get_if<Bytes>(&held_); }
  [[nodiscard]] const Array* array() const noexcept { return std::get_if<Array>(&held_); }
  [[nodiscard]] const Map* map() const noexcept { return std::get_if<Map>(&held_); }
  // What a map holds at this key; null when it has none, and when this is not a map.
  [[nodiscard]] const Value* find(std::string_view key) const noexcept;

  friend bool operator==(const Value& a, const Value& b) noexcept { return a.held_ == b.held_; }

 private:
  template <class T>
  std::optional<T> copy() const noexcept {
    const T* held = std::get_if<T>(&held_);
    return held != nullptr ? std::optional<T>(*held) : std::nullopt;
  }

  // In the order of Kind.
  std::variant<std::monostate, bool, std::uint64_t, std::int64_t, std::string, Bytes, Array, Map>
      held_;
};

// What a document may cost its reader; one that costs more is refused.
struct ValueLimits {
  std::size_t depth = 16;  // arrays and maps within each other; at most Value::kMaxDepth counts
  std::size_t items = 100'000;  // values in the whole document, itself included
};

// RFC 8949 §4.2.1: equal values have equal encodings.
std::string encode_cbor(const Value& value);
// Malformed, with what and at which byte, unless this is exactly what encode_cbor() gives.
Result<Value> decode_cbor(ByteView bytes, ValueLimits limits = {});

// Compact, keys in alphabetical order. Bytes are written as base64 and are read back as text.
std::string print_json(const Value& value);
// Strict RFC 8259. Malformed, with what and at which byte, on anything else, on a key that appears
// twice in an object and on a number that is not an integer of the range above.
Result<Value> parse_json(std::string_view text, ValueLimits limits = {});

}  // namespace ron::base
