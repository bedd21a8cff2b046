// Little-endian fields, written to and read from bytes without I/O. The reader is strict: one read
// past the end makes every later one fail, and nothing read is to be believed before ok() is asked.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "b3/tree.h"
#include "base/bytes.h"
#include "base/object_id.h"
#include "base/ulid.h"

namespace ron::volume {

// Appends fields to a string it owns.
class FieldWriter {
 public:
  // `expected`: room for so many bytes is made at once. Most entries and keys fit the usual size.
  explicit FieldWriter(std::size_t expected = kUsualBytes) { out_.reserve(expected); }

  void u8(std::uint8_t value) { out_.push_back(static_cast<char>(value)); }
  void u16(std::uint16_t value) { number(value, 2); }
  void u32(std::uint32_t value) { number(value, 4); }
  void u64(std::uint64_t value) { number(value, 8); }
  void i64(std::int64_t value) { u64(static_cast<std::uint64_t>(value)); }
  void text(std::string_view text) { out_.append(text); }
  void bytes(base::ByteView bytes) { out_.append(base::as_text(bytes)); }
  void id(const base::ObjectId& id) { bytes(id.digest()); }
  void ulid(const base::Ulid& ulid) { text(ulid.text()); }
  void value(const b3::ChainingValue& value) { bytes(value.bytes); }
  void zeros(std::size_t count) { out_.append(count, '\0'); }

  // Begins anew in the same memory.
  void clear() noexcept { out_.clear(); }
  [[nodiscard]] std::string_view view() const noexcept { return out_; }
  [[nodiscard]] std::string take() && noexcept { return std::move(out_); }

 private:
  static constexpr std::size_t kUsualBytes = 128;

  void number(std::uint64_t value, std::size_t bytes) {
    std::array<char, 8> little;  // NOLINT: filled below
    for (std::size_t i = 0; i < little.size(); ++i) little[i] = static_cast<char>(value >> (8 * i));
    out_.append(little.data(), bytes);
  }
  std::string out_;
};

// Reads fields from bytes owned by someone else.
class FieldReader {
 public:
  explicit FieldReader(base::ByteView bytes) noexcept : rest_(bytes) {}
  explicit FieldReader(std::string_view text) noexcept : rest_(base::as_bytes(text)) {}

  std::uint8_t u8() noexcept { return static_cast<std::uint8_t>(number(1)); }
  std::uint16_t u16() noexcept { return static_cast<std::uint16_t>(number(2)); }
  std::uint32_t u32() noexcept { return static_cast<std::uint32_t>(number(4)); }
  std::uint64_t u64() noexcept { return number(8); }
  std::int64_t i64() noexcept { return static_cast<std::int64_t>(number(8)); }
  base::ByteView bytes(std::size_t count) noexcept {
    if (!ok_ || count > rest_.size()) {
      ok_ = false;
      return {};
    }
    const base::ByteView taken = rest_.first(count);
    rest_ = rest_.subspan(count);
    return taken;
  }
  std::string text(std::size_t count) { return std::string(base::as_text(bytes(count))); }
  base::ObjectId id() noexcept {
    std::array<std::byte, base::ObjectId::kBytes> digest{};
    copy(digest);
    return base::ObjectId(digest);
  }
  b3::ChainingValue value() noexcept {
    b3::ChainingValue value;
    copy(value.bytes);
    return value;
  }
  // Only the canonical text is accepted, so that one upload has one key.
  base::Ulid ulid() noexcept {
    const std::string_view text = base::as_text(bytes(base::Ulid::kTextLength));
    const std::optional<base::Ulid> ulid = base::Ulid::parse(text);
    if (!ulid || ulid->text() != text) {
      ok_ = false;
      return {};
    }
    return *ulid;
  }
  bool flag() noexcept {
    const std::uint8_t value = u8();
    if (value > 1) ok_ = false;
    return value == 1;
  }
  void zeros(std::size_t count) noexcept {
    const base::ByteView taken = bytes(count);
    if (!std::ranges::all_of(taken, [](std::byte b) { return b == std::byte{0}; })) ok_ = false;
  }

  [[nodiscard]] bool ok() const noexcept { return ok_; }
  // Everything was read, and nothing more.
  [[nodiscard]] bool complete() const noexcept { return ok_ && rest_.empty(); }

 private:
  std::uint64_t number(std::size_t count) noexcept {
    std::uint64_t value = 0;
    const base::ByteView taken = bytes(count);
    for (std::size_t i = 0; i < taken.size(); ++i) {
      value |= static_cast<std::uint64_t>(taken[i]) << (8 * i);
    }
    return value;
  }
  template <std::size_t kCount>
  void copy(std::array<std::byte, kCount>& into) noexcept {
    const base::ByteView taken = bytes(kCount);
    if (!taken.empty()) std::memcpy(into.data(), taken.data(), kCount);
  }

  base::ByteView rest_;
  bool ok_ = true;
};

}  // namespace ron::volume
