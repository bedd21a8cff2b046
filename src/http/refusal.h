// How the parsers of this folder say no: a code and a literal, so that refusing hostile bytes
// allocates nothing. error() makes the taxonomy's value where a reply or a log needs it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

#include "base/error.h"

namespace ron::http {

// `message` must be a string literal: a refusal is kept longer than the bytes it refuses.
struct Refusal {
  base::Code code = base::Code::Malformed;
  std::string_view message;

  [[nodiscard]] base::Error error() const { return {code, std::string(message)}; }
  friend bool operator==(const Refusal&, const Refusal&) = default;
};

template <class T = void>
using Checked = std::expected<T, Refusal>;

constexpr std::unexpected<Refusal> refuse(base::Code code, std::string_view message) noexcept {
  return std::unexpected<Refusal>(Refusal{code, message});
}
constexpr std::unexpected<Refusal> malformed(std::string_view message) noexcept {
  return refuse(base::Code::Malformed, message);
}

enum class Progress : std::uint8_t { NeedMore, Done, Bad };

// What a head parser says after looking at the bytes so far. `consumed` counts from the start of
// the buffer and is set only when Done; `refusal` only when Bad.
struct HeadOutcome {
  Progress progress = Progress::NeedMore;
  std::size_t consumed = 0;
  Refusal refusal{};

  static constexpr HeadOutcome need_more() noexcept { return {}; }
  static constexpr HeadOutcome done(std::size_t bytes) noexcept {
    return {Progress::Done, bytes, {}};
  }
  static constexpr HeadOutcome bad(Refusal why) noexcept { return {Progress::Bad, 0, why}; }
};

}  // namespace ron::http
