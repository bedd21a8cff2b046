#include "base/cbor.h"

#include <algorithm>
#include <cassert>
#include <limits>

#include "base/utf8.h"

namespace ron::base {
namespace {

// RFC 8949 §3: the upper three bits of an item's first byte are its major type, the lower five its
// argument or how many bytes of argument follow.
constexpr unsigned kUnsigned = 0;
constexpr unsigned kNegative = 1;
constexpr unsigned kBytes = 2;
constexpr unsigned kText = 3;
constexpr unsigned kArray = 4;
constexpr unsigned kMap = 5;
constexpr unsigned kTag = 6;
constexpr unsigned kSimple = 7;

constexpr unsigned kOneByteFollows = 24;
constexpr unsigned kEightBytesFollow = 27;
constexpr unsigned kIndefinite = 31;

constexpr unsigned kFalse = 20;
constexpr unsigned kTrue = 21;
constexpr unsigned kNull = 22;
constexpr unsigned kUndefined = 23;
constexpr unsigned kHalfFloat = 25;

constexpr unsigned major_of(std::byte first) { return static_cast<unsigned>(first) >> 5; }
constexpr unsigned info_of(std::byte first) { return static_cast<unsigned>(first) & 31U; }

// Why an item with this first byte is outside of the subset; null when it is not.
const char* outside_of_subset(std::byte first) {
  const unsigned major = major_of(first);
  const unsigned info = info_of(first);
  if (major == kTag) return "tags are not accepted";
  if (major != kSimple) {
    if (info == kIndefinite) return "indefinite lengths are not accepted";
    if (info > kEightBytesFollow) return "this is not well-formed CBOR";
    return nullptr;
  }
  if (info == kFalse || info == kTrue || info == kNull) return nullptr;
  if (info == kUndefined) return "undefined is not accepted";
  if (info >= kHalfFloat && info <= kEightBytesFollow) return "floats are not accepted";
  if (info > kEightBytesFollow) return "this is not well-formed CBOR";
  return "simple values besides false, true and null are not accepted";
}

}  // namespace

void CborWriter::head(unsigned major, std::uint64_t argument) {
  const auto first = [major](unsigned info) { return static_cast<char>((major << 5) | info); };
  if (argument < kOneByteFollows) {
    out_.push_back(first(static_cast<unsigned>(argument)));
    return;
  }
  unsigned width_log2 = 3;
  if (argument <= 0xFF) {
    width_log2 = 0;
  } else if (argument <= 0xFFFF) {
    width_log2 = 1;
  } else if (argument <= 0xFFFF'FFFF) {
    width_log2 = 2;
  }
  const std::size_t width = std::size_t{1} << width_log2;
  std::array<char, 9> bytes;
  bytes[0] = first(kOneByteFollows + width_log2);
  for (std::size_t i = width; i > 0; --i, argument >>= 8) bytes[i] = static_cast<char>(argument);
  out_.append(bytes.data(), width + 1);
}

CborWriter& CborWriter::array(std::uint64_t items) {
  assert(nesting_.value_is_due() && !nesting_.full());
  head(kArray, items);
  nesting_.open(items, false);
  return *this;
}

CborWriter& CborWriter::map(std::uint64_t pairs) {
  assert(nesting_.value_is_due() && !nesting_.full());
  assert(pairs <= std::numeric_limits<std::uint64_t>::max() / 2);
  head(kMap, pairs);
  nesting_.open(2 * pairs, true);
  return *this;
}

CborWriter& CborWriter::key(std::string_view name) {
  assert(nesting_.key_is_due() && is_utf8(name));
  CborNesting::Level& level = nesting_.top();
  assert(level.key_at == CborNesting::kNoKey ||
         cbor_key_less(std::string_view(out_).substr(level.key_at, level.key_bytes), name));
  head(kText, name.size());
  level.key_at = out_.size();
  level.key_bytes = name.size();
  out_.append(name);
  nesting_.close_item();
  return *this;
}

CborWriter& CborWriter::unsigned_number(std::uint64_t number) {
  assert(nesting_.value_is_due());
  head(kUnsigned, number);
  nesting_.close_item();
  return *this;
}

CborWriter& CborWriter::negative_number(std::int64_t number) {
  assert(nesting_.value_is_due() && number < 0);
  // The argument is -1 - number, which is the complement.
  head(kNegative, ~static_cast<std::uint64_t>(number));
  nesting_.close_item();
  return *this;
}

CborWriter& CborWriter::text(std::string_view text) {
  assert(nesting_.value_is_due() && is_utf8(text));
  head(kText, text.size());
  out_.append(text);
  nesting_.close_item();
  return *this;
}

CborWriter& CborWriter::bytes(ByteView bytes) {
  assert(nesting_.value_is_due());
  head(kBytes, bytes.size());
  out_.append(as_text(bytes));
  nesting_.close_item();
  return *this;
}

CborWriter& CborWriter::boolean(bool flag) {
  assert(nesting_.value_is_due());
  head(kSimple, flag ? kTrue : kFalse);
  nesting_.close_item();
  return *this;
}

CborWriter& CborWriter::null() {
  assert(nesting_.value_is_due());
  head(kSimple, kNull);
  nesting_.close_item();
  return *this;
}

void CborReader::refuse_at(std::size_t at, const char* why) noexcept {
  if (!ok()) return;
  why_ = why;
  failed_at_ = at;
}

CborKind CborReader::next_kind() noexcept {
  if (!ok()) return CborKind::None;
  if (at_ == bytes_.size()) {
    refuse("the document ends too early");
    return CborKind::None;
  }
  const std::byte first = bytes_[at_];
  if (const char* why = outside_of_subset(first)) {
    refuse(why);
    return CborKind::None;
  }
  switch (major_of(first)) {
    case kUnsigned:
      return CborKind::Unsigned;
    case kNegative:
      return CborKind::Negative;
    case kBytes:
      return CborKind::Bytes;
    case kText:
      return CborKind::Text;
    case kArray:
      return CborKind::Array;
    case kMap:
      return CborKind::Map;
    default:
      return info_of(first) == kNull ? CborKind::Null : CborKind::Bool;
  }
}

bool CborReader::take_argument(unsigned info, std::uint64_t& argument) noexcept {
  if (info < kOneByteFollows) {
    argument = info;
    return true;
  }
  const std::size_t width = std::size_t{1} << (info - kOneByteFollows);
  const std::size_t start = at_ - 1;
  if (bytes_.size() - at_ < width) {
    refuse_at(start, "the document ends too early");
    return false;
  }
  argument = 0;
  for (const std::byte b : bytes_.subspan(at_, width)) {
    argument = (argument << 8) | static_cast<std::uint64_t>(b);
  }
  at_ += width;
  const std::uint64_t smallest = width == 1 ? kOneByteFollows : std::uint64_t{1} << (4 * width);
  if (argument < smallest) {
    refuse_at(start, "a number or length is not written in its shortest form");
    return false;
  }
  return true;
}

bool CborReader::take_head(unsigned major, const char* otherwise,
                           std::uint64_t& argument) noexcept {
  if (next_kind() == CborKind::None) return false;
  const std::byte first = bytes_[at_];
  if (major_of(first) != major) {
    refuse(otherwise);
    return false;
  }
  ++at_;
  return take_argument(info_of(first), argument);
}

bool CborReader::value_may_come() noexcept {
  if (nesting_.key_is_due()) refuse("a value was expected where the map has a key");
  if (nesting_.finished()) refuse("more was expected than the document holds");
  return ok();
}

std::uint64_t CborReader::open(unsigned major, std::uint64_t items_each,
                               const char* otherwise) noexcept {
  const std::size_t start = at_;
  std::uint64_t count = 0;
  if (!value_may_come() || !take_head(major, otherwise, count)) return 0;
  // An item is at least one byte.
  if (count > (bytes_.size() - at_) / items_each) {
    refuse_at(start, "an array or map claims more items than there are bytes");
  } else if (nesting_.full()) {
    refuse_at(start, "arrays and maps are nested too deeply");
  }
  if (!ok()) return 0;
  nesting_.open(count * items_each, major == kMap);
  return count;
}

std::uint64_t CborReader::array() noexcept { return open(kArray, 1, "an array was expected"); }

std::uint64_t CborReader::map() noexcept { return open(kMap, 2, "a map was expected"); }

ByteView CborReader::take_string(unsigned major, const char* otherwise) noexcept {
  const std::size_t start = at_;
  std::uint64_t length = 0;
  if (!take_head(major, otherwise, length)) return {};
  if (length > bytes_.size() - at_) {
    refuse_at(start, "a text or byte string is longer than the rest of the document");
    return {};
  }
  const ByteView taken = bytes_.subspan(at_, length);
  at_ += length;
  return taken;
}

std::string_view CborReader::take_text(const char* otherwise) noexcept {
  const std::size_t start = at_;
  const std::string_view text = as_text(take_string(kText, otherwise));
  if (!is_utf8(text)) {
    refuse_at(start, "a text is not UTF-8");
    return {};
  }
  return text;
}

std::string_view CborReader::key() noexcept {
  if (ok() && !nesting_.key_is_due()) refuse("a key was expected where no map has one");
  if (!ok()) return {};
  const std::size_t start = at_;
  const std::string_view name = take_text("a map's key is not text");
  if (!ok()) return {};
  CborNesting::Level& level = nesting_.top();
  if (level.key_at != CborNesting::kNoKey) {
    const std::string_view before = as_text(bytes_.subspan(level.key_at, level.key_bytes));
    if (name == before) {
      refuse_at(start, "a map has the same key twice");
    } else if (cbor_key_less(name, before)) {
      refuse_at(start, "a map's keys are not sorted");
    }
    if (!ok()) return {};
  }
  level.key_at = at_ - name.size();
  level.key_bytes = name.size();
  nesting_.close_item();
  return name;
}

void CborReader::key(std::string_view expected) noexcept {
  const std::size_t start = at_;
  if (key() != expected) refuse_at(start, "another key was expected");
}

std::uint64_t CborReader::unsigned_number() noexcept {
  std::uint64_t number = 0;
  if (!value_may_come() || !take_head(kUnsigned, "an unsigned number was expected", number)) {
    return 0;
  }
  nesting_.close_item();
  return number;
}

std::int64_t CborReader::negative_number() noexcept {
  const std::size_t start = at_;
  std::uint64_t argument = 0;
  if (!value_may_come() || !take_head(kNegative, "a negative number was expected", argument)) {
    return 0;
  }
  if (argument > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    refuse_at(start, "a negative number does not fit 64 bits");
    return 0;
  }
  nesting_.close_item();
  return static_cast<std::int64_t>(~argument);
}

std::string_view CborReader::text() noexcept {
  if (!value_may_come()) return {};
  const std::string_view text = take_text("a text was expected");
  if (ok()) nesting_.close_item();
  return text;
}

ByteView CborReader::bytes() noexcept {
  if (!value_may_come()) return {};
  const ByteView bytes = take_string(kBytes, "a byte string was expected");
  if (ok()) nesting_.close_item();
  return bytes;
}

void CborReader::bytes(MutableBytes out) noexcept {
  const std::size_t start = at_;
  const ByteView taken = bytes();
  if (taken.size() != out.size()) refuse_at(start, "a byte string has another length");
  if (ok()) std::ranges::copy(taken, out.begin());
}

bool CborReader::boolean() noexcept {
  if (!value_may_come()) return false;
  if (next_kind() != CborKind::Bool) refuse("false or true was expected");
  if (!ok()) return false;
  const bool flag = info_of(bytes_[at_++]) == kTrue;
  nesting_.close_item();
  return flag;
}

void CborReader::null() noexcept {
  if (!value_may_come()) return;
  if (next_kind() != CborKind::Null) refuse("null was expected");
  if (!ok()) return;
  ++at_;
  nesting_.close_item();
}

Error CborReader::error() const {
  const char* why = why_;
  if (ok()) {
    why = nesting_.finished() ? "something follows the document" : "the document holds more";
  }
  const std::size_t at = ok() ? at_ : failed_at_;
  return {Code::Malformed, "the CBOR is refused at byte " + std::to_string(at) + ": " + why};
}

}  // namespace ron::base
