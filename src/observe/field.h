// Key-value pairs of log lines.
//
// A Field borrows: it is built in the argument list of a call and read before that call returns, so
// making one costs a few stores and no allocation. Keys are checked when the program is compiled;
// what a value may hold is a closed list, so that a type wrapping a secret does not compile here:
// log redacted(fingerprint) instead.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/encoding.h"
#include "base/ulid.h"

namespace ron::observe {

// A field's name: a string literal in lower_snake_case that no line uses for itself.
class Key {
 public:
  static constexpr std::size_t kMaxBytes = 48;
  static constexpr std::array<std::string_view, 6> kReserved = {"time", "level",   "service",
                                                                "msg",  "corr_id", "truncated"};

  consteval Key(const char* literal) : text_(literal) {
    if (text_.empty() || text_.size() > kMaxBytes) throw "a key has 1 to 48 characters";
    for (const char c : text_) {
      if ((c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_') throw "use lower_snake_case";
    }
    for (const std::string_view name : kReserved) {
      if (text_ == name) throw "every line has this key already";
    }
  }
  [[nodiscard]] constexpr std::string_view text() const noexcept { return text_; }

 private:
  std::string_view text_;
};

// Stands for a secret in logs: eight hex digits that tell two secrets apart and give neither away.
class Redacted {
 public:
  static constexpr std::size_t kDigits = 8;

  constexpr explicit Redacted(std::uint32_t fingerprint) noexcept {
    for (std::size_t i = 0; i < kDigits; ++i) {
      text_[i] = "0123456789abcdef"[(fingerprint >> (4 * (kDigits - 1 - i))) & 15U];
    }
  }
  // Anything but eight hex digits, such as the secret itself passed by mistake, is not kept.
  constexpr explicit Redacted(std::string_view fingerprint) noexcept {
    text_.fill('?');
    if (fingerprint.size() != kDigits) return;
    for (const char c : fingerprint) {
      if (base::hex_digit(c) < 0) return;
    }
    for (std::size_t i = 0; i < kDigits; ++i) text_[i] = fingerprint[i];
  }
  [[nodiscard]] constexpr std::string_view text() const noexcept {
    return {text_.data(), text_.size()};
  }

 private:
  std::array<char, kDigits> text_{};
};

constexpr Redacted redacted(std::uint32_t fingerprint) noexcept { return Redacted(fingerprint); }
constexpr Redacted redacted(std::string_view fingerprint) noexcept { return Redacted(fingerprint); }

template <class T>
concept Number = std::integral<T> && !std::same_as<T, char>;

// A field's value. Text is borrowed; everything else is held.
class Value {
 public:
  enum class Kind : std::uint8_t { kText, kSigned, kUnsigned, kReal, kBool, kRedacted };

  template <Number T>
  constexpr Value(T number) noexcept : kind_(kind_of<T>()) {
    if constexpr (std::same_as<T, bool>) {
      bool_ = number;
    } else if constexpr (std::is_signed_v<T>) {
      signed_ = number;
    } else {
      unsigned_ = number;
    }
  }
  template <std::floating_point T>
  constexpr Value(T number) noexcept : kind_(Kind::kReal), real_(static_cast<double>(number)) {}
  constexpr Value(std::string_view text) noexcept : kind_(Kind::kText), text_(text) {}
  constexpr Value(const char* text) noexcept : Value(std::string_view(text)) {}
  constexpr Value(const std::string& text) noexcept : Value(std::string_view(text)) {}
  constexpr Value(const base::Ulid& id) noexcept : Value(id.text()) {}
  constexpr Value(Redacted secret) noexcept : kind_(Kind::kRedacted), redacted_(secret) {}
  Value(std::nullptr_t) = delete;
  Value(const void*) = delete;  // or a pointer would quietly become `true`

  [[nodiscard]] constexpr Kind kind() const noexcept { return kind_; }
  // Each reads the alternative that kind() names.
  [[nodiscard]] constexpr std::string_view text() const noexcept { return text_; }
  [[nodiscard]] constexpr std::int64_t signed_number() const noexcept { return signed_; }
  [[nodiscard]] constexpr std::uint64_t unsigned_number() const noexcept { return unsigned_; }
  [[nodiscard]] constexpr double real() const noexcept { return real_; }
  [[nodiscard]] constexpr bool boolean() const noexcept { return bool_; }
  [[nodiscard]] constexpr const Redacted& secret() const noexcept { return redacted_; }

 private:
  template <class T>
  static constexpr Kind kind_of() noexcept {
    if constexpr (std::same_as<T, bool>) return Kind::kBool;
    return std::is_signed_v<T> ? Kind::kSigned : Kind::kUnsigned;
  }

  Kind kind_;
  union {
    std::string_view text_;
    std::int64_t signed_;
    std::uint64_t unsigned_;
    double real_;
    bool bool_;
    Redacted redacted_;
  };
};

struct Field {
  Key key;
  Value value;
};

}  // namespace ron::observe
