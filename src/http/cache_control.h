// Cache-Control (RFC 9111, 5.2) of responses and of requests. Pure functions; nothing allocates.
//
// Whatever is unclear makes a copy be used less: of a directive that is given twice the stricter
// value counts, a number that is none is 0 seconds, an element that breaks the grammar means
// no-cache, and a quote that does not end means no-store, since nobody can tell what it hides.
// Directives that are not known are passed over, as 5.2.3 demands.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace ron::http {

// Delta-seconds above this mean this (RFC 9111, 1.2.2).
inline constexpr std::uint32_t kMaxDeltaS = 1U << 31;

// A number of seconds; nothing unless it is digits only.
std::optional<std::uint32_t> parse_delta_seconds(std::string_view text) noexcept;

struct CacheControl {
  bool no_store = false;
  bool no_cache = false;    // also with field names: the copy is not used unchecked at all
  bool is_private = false;  // likewise
  bool is_public = false;
  bool must_revalidate = false;
  bool proxy_revalidate = false;
  bool must_understand = false;
  bool no_transform = false;
  bool immutable = false;
  std::optional<std::uint32_t> max_age{};
  std::optional<std::uint32_t> s_maxage{};
  std::optional<std::uint32_t> stale_if_error{};  // RFC 5861

  // One line of the field; further lines add to the first.
  void add(std::string_view line) noexcept;
};

struct RequestCacheControl {
  bool no_store = false;
  bool no_cache = false;
  bool only_if_cached = false;
  std::optional<std::uint32_t> max_age{};
  std::optional<std::uint32_t> min_fresh{};
  std::optional<std::uint32_t> max_stale{};  // kMaxDeltaS: however stale
  std::optional<std::uint32_t> stale_if_error{};

  void add(std::string_view line) noexcept;
};

}  // namespace ron::http
