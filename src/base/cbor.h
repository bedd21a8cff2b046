// Deterministic CBOR (RFC 8949 §4.2.1), written and read item by item, without a tree.
//
// The subset: unsigned and negative integers of 64 bits, text, bytes, arrays, maps with text keys,
// false, true and null. One value has exactly one encoding, so that a hash of the bytes is a hash
// of the value: heads are as short as possible, lengths are definite, keys are sorted and appear
// once. Tags, floats, undefined and other simple values are neither written nor read.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/error.h"

namespace ron::base {

// The order of a map's keys: that of their encodings, bytewise. A shorter text has a smaller head,
// so length comes first.
constexpr bool cbor_key_less(std::string_view a, std::string_view b) noexcept {
  return a.size() != b.size() ? a.size() < b.size() : a < b;
}

// Which item is due in the arrays and maps that are open. Used by the writer and the reader.
class CborNesting {
 public:
  static constexpr std::size_t kMaxDepth = 64;
  static constexpr std::size_t kNoKey = static_cast<std::size_t>(-1);

  // One open array or map; `key_at` is where in the document the text of its latest key begins.
  struct Level {
    std::uint64_t left;  // items to come; a pair of a map is two
    std::size_t key_at;
    std::size_t key_bytes;
    bool is_map;
  };

  [[nodiscard]] bool finished() const noexcept { return finished_; }
  [[nodiscard]] bool full() const noexcept { return depth_ == kMaxDepth; }
  [[nodiscard]] bool key_is_due() const noexcept {
    return depth_ > 0 && levels_[depth_ - 1].is_map && levels_[depth_ - 1].left % 2 == 0;
  }
  [[nodiscard]] bool value_is_due() const noexcept { return !finished_ && !key_is_due(); }
  // The innermost array or map; there must be one.
  [[nodiscard]] Level& top() noexcept { return levels_[depth_ - 1]; }

  void open(std::uint64_t items, bool is_map) noexcept {
    if (items == 0) {
      close_item();
      return;
    }
    levels_[depth_++] = {.left = items, .key_at = kNoKey, .key_bytes = 0, .is_map = is_map};
  }
  // An item ends, and with the last one of an array or map that ends as well.
  void close_item() noexcept {
    while (depth_ > 0) {
      if (--levels_[depth_ - 1].left > 0) return;
      --depth_;
    }
    finished_ = true;
  }

 private:
  std::array<Level, kMaxDepth> levels_;  // only the first depth_ are ever read
  std::size_t depth_ = 0;
  bool finished_ = false;
};

// CborWriter: appends one document to a string it does not own, without memory of its own. The
// caller gives counts that come true and a map's keys in the order of cbor_key_less; text is UTF-8.
// All of that is checked by assertion. One thread.
class CborWriter {
 public:
  static constexpr std::size_t kMaxDepth = CborNesting::kMaxDepth;

  explicit CborWriter(std::string& out) noexcept : out_(out) {}

  // So many items, or pairs of key() and a value, follow.
  CborWriter& array(std::uint64_t items);
  CborWriter& map(std::uint64_t pairs);
  CborWriter& key(std::string_view name);

  CborWriter& unsigned_number(std::uint64_t number);
  CborWriter& negative_number(std::int64_t number);  // below zero
  CborWriter& text(std::string_view text);
  CborWriter& bytes(ByteView bytes);
  CborWriter& boolean(bool flag);
  CborWriter& null();

  // True once the document is whole.
  [[nodiscard]] bool complete() const noexcept { return nesting_.finished(); }

 private:
  void head(unsigned major, std::uint64_t argument);

  std::string& out_;
  CborNesting nesting_;
};

enum class CborKind : std::uint8_t {
  None,
  Unsigned,
  Negative,
  Bytes,
  Text,
  Array,
  Map,
  Bool,
  Null
};

// CborReader: takes the items of one document in order, from bytes owned by someone else; views it
// returns point into those. Strict: whatever breaks the rules above, is of another kind than asked
// for or lies past the end makes this and every later read fail, with zero, empty or false as the
// result. Nothing read is to be believed before ok() or complete() is asked. A count it returns is
// never larger than the number of bytes that follow. One thread; allocates nothing but error().
class CborReader {
 public:
  static constexpr std::size_t kMaxDepth = CborNesting::kMaxDepth;

  explicit CborReader(ByteView bytes) noexcept : bytes_(bytes) {}
  explicit CborReader(std::string_view bytes) noexcept : bytes_(as_bytes(bytes)) {}

  // What comes next; None, and a failed reader, when that is nothing or not in the subset.
  CborKind next_kind() noexcept;

  // The number of items, or of pairs of a key() and a value, that follow.
  std::uint64_t array() noexcept;
  std::uint64_t map() noexcept;
  std::string_view key() noexcept;
  // Fails unless the next key is this one.
  void key(std::string_view expected) noexcept;

  std::uint64_t unsigned_number() noexcept;
  std::int64_t negative_number() noexcept;
  std::string_view text() noexcept;
  ByteView bytes() noexcept;
  // Fills `out` from bytes of exactly its length; leaves it alone otherwise.
  void bytes(MutableBytes out) noexcept;
  bool boolean() noexcept;
  void null() noexcept;

  // Fails the reader for a reason of the caller's, a sentence without its full stop. `why` has to
  // outlive the reader; the first reason is kept.
  void refuse(const char* why) noexcept { refuse_at(at_, why); }

  [[nodiscard]] bool ok() const noexcept { return why_ == nullptr; }
  // The document was read as a whole, and nothing follows it.
  [[nodiscard]] bool complete() const noexcept {
    return ok() && nesting_.finished() && at_ == bytes_.size();
  }
  // How many bytes were read.
  [[nodiscard]] std::size_t position() const noexcept { return at_; }
  // Malformed: what keeps this reader from being complete(), and at which byte.
  [[nodiscard]] Error error() const;

 private:
  void refuse_at(std::size_t at, const char* why) noexcept;
  // The argument of the next item's head, which has to be of this major type.
  bool take_head(unsigned major, const char* otherwise, std::uint64_t& argument) noexcept;
  bool take_argument(unsigned info, std::uint64_t& argument) noexcept;
  ByteView take_string(unsigned major, const char* otherwise) noexcept;
  std::string_view take_text(const char* otherwise) noexcept;
  bool value_may_come() noexcept;
  std::uint64_t open(unsigned major, std::uint64_t items_each, const char* otherwise) noexcept;

  ByteView bytes_;
  std::size_t at_ = 0;
  const char* why_ = nullptr;  // null: nothing failed so far
  std::size_t failed_at_ = 0;
  CborNesting nesting_;
};

}  // namespace ron::base
