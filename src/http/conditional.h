// Conditional requests by entity-tag, RFC 9110 §13, in the order of §13.2.2. Pure functions.
//
// We have no modification dates: If-Modified-Since and If-Unmodified-Since are ignored, and an
// If-Range that holds a date never matches. A list that breaks the grammar anywhere matches
// nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "http/head.h"

namespace ron::http {

struct EntityTag {
  std::string_view opaque;  // between the quotes
  bool weak = false;

  friend bool operator==(const EntityTag&, const EntityTag&) = default;
};

// Exactly `"…"` or `W/"…"`; nothing else around it.
std::optional<EntityTag> parse_entity_tag(std::string_view text) noexcept;

// Both strong and the same.
bool strong_match(const EntityTag& a, const EntityTag& b) noexcept;
// The same, whatever their strength.
bool weak_match(const EntityTag& a, const EntityTag& b) noexcept;

// One If-Match or If-None-Match value: `*` or a comma list of entity-tags.
enum class TagMatch : std::uint8_t { Strong, Weak };
bool list_matches(std::string_view list, const std::optional<EntityTag>& current,
                  TagMatch how) noexcept;

enum class Verdict : std::uint8_t {
  Proceed,
  NotModified,         // 304, GET and HEAD only
  PreconditionFailed,  // 412
  IgnoreRange,         // proceed, but answer with the whole object
};

// `current` is the tag of what is stored now; nothing when nothing is.
Verdict evaluate(const RequestHead& request, const std::optional<EntityTag>& current) noexcept;

}  // namespace ron::http
