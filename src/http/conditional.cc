#include "http/conditional.h"

#include "http/field_list.h"

namespace ron::http {
namespace {

// Takes one entity-tag off the front of `rest`.
std::optional<EntityTag> take_entity_tag(std::string_view& rest) noexcept {
  std::string_view text = rest;
  const bool weak = text.starts_with("W/");
  if (weak) text.remove_prefix(2);
  if (!text.starts_with('"')) return std::nullopt;
  text.remove_prefix(1);
  const std::size_t length = span_of(text, kEtagChar);
  if (length == text.size() || text[length] != '"') return std::nullopt;
  rest = text.substr(length + 1);
  return EntityTag{text.substr(0, length), weak};
}

bool any_line_matches(const RequestHead& request, KnownField field,
                      const std::optional<EntityTag>& current, TagMatch how) noexcept {
  bool matched = false;
  request.for_each(field, [&](std::string_view value) {
    matched = matched || list_matches(value, current, how);
  });
  return matched;
}

}  // namespace

std::optional<EntityTag> parse_entity_tag(std::string_view text) noexcept {
  const auto tag = take_entity_tag(text);
  return text.empty() ? tag : std::nullopt;
}

bool strong_match(const EntityTag& a, const EntityTag& b) noexcept {
  return !a.weak && !b.weak && a.opaque == b.opaque;
}

bool weak_match(const EntityTag& a, const EntityTag& b) noexcept { return a.opaque == b.opaque; }

bool list_matches(std::string_view list, const std::optional<EntityTag>& current,
                  TagMatch how) noexcept {
  std::string_view rest = trim_ows(list);
  if (rest == "*") return current.has_value();
  bool matched = false;
  // Entity-tags may contain commas, so the list is cut behind each closing quote.
  while (!rest.empty()) {
    if (rest.front() != ',') {
      const auto tag = take_entity_tag(rest);
      rest = trim_ows(rest);
      if (!tag || (!rest.empty() && rest.front() != ',')) return false;
      if (current) {
        matched = matched || (how == TagMatch::Strong ? strong_match(*tag, *current)
                                                      : weak_match(*tag, *current));
      }
    }
    if (!rest.empty()) rest = trim_ows(rest.substr(1));
  }
  return matched;
}

Verdict evaluate(const RequestHead& request, const std::optional<EntityTag>& current) noexcept {
  if (request.has(KnownField::IfMatch) &&
      !any_line_matches(request, KnownField::IfMatch, current, TagMatch::Strong)) {
    return Verdict::PreconditionFailed;
  }
  const bool reading = request.method == Method::Get || request.method == Method::Head;
  if (request.has(KnownField::IfNoneMatch) &&
      any_line_matches(request, KnownField::IfNoneMatch, current, TagMatch::Weak)) {
    return reading ? Verdict::NotModified : Verdict::PreconditionFailed;
  }
  const auto if_range = request.get(KnownField::IfRange);
  if (if_range && request.method == Method::Get && request.has(KnownField::Range)) {
    const auto tag = parse_entity_tag(*if_range);
    if (!tag || !current || !strong_match(*tag, *current)) return Verdict::IgnoreRange;
  }
  return Verdict::Proceed;
}

}  // namespace ron::http
