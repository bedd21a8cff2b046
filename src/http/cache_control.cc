#include "http/cache_control.h"

#include <algorithm>
#include <array>

#include "http/field_list.h"

namespace ron::http {
namespace {

// One element of the list: `token`, `token=token` or `token="text"`.
struct Directive {
  std::string_view name;
  std::optional<std::string_view> value;  // of a quoted one what is between the quotes
};

enum class Element : std::uint8_t {
  Read,
  Broken,      // breaks the grammar; the next comma ends it
  Unfinished,  // a quote that does not end
  End
};

// How long a quoted text at the front is, its quotes included; nothing if it does not end. The
// escape of a character counts as two: no value that matters to us has one.
std::optional<std::size_t> quoted_length(std::string_view text) noexcept {
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == '"') {
      return i + 1;
    }
  }
  return std::nullopt;
}

// Walks a list of directives. Commas in quotes do not end an element.
class DirectiveReader {
 public:
  explicit DirectiveReader(std::string_view list) noexcept : rest_(list) {}

  Element next(Directive& out) noexcept {
    skip_empty();
    if (rest_.empty()) return Element::End;
    out.name = rest_.substr(0, span_of(rest_, kTchar));
    out.value.reset();
    rest_.remove_prefix(out.name.size());
    bool fine = !out.name.empty();
    if (fine && rest_.starts_with('=')) {
      rest_.remove_prefix(1);
      if (rest_.starts_with('"')) {
        const auto length = quoted_length(rest_);
        if (!length) return unfinished();
        out.value = rest_.substr(1, *length - 2);
        rest_.remove_prefix(*length);
      } else {
        out.value = rest_.substr(0, span_of(rest_, kTchar));
        rest_.remove_prefix(out.value->size());
        fine = !out.value->empty();
      }
    }
    rest_ = trim_ows(rest_);
    if (fine && (rest_.empty() || rest_.front() == ',')) return Element::Read;
    return skip_broken();
  }

 private:
  void skip_empty() noexcept {
    rest_ = trim_ows(rest_);
    while (rest_.starts_with(',')) rest_ = trim_ows(rest_.substr(1));
  }
  Element skip_broken() noexcept {
    while (!rest_.empty() && rest_.front() != ',') {
      std::size_t length = 1;
      if (rest_.front() == '"') {
        const auto quoted = quoted_length(rest_);
        if (!quoted) return unfinished();
        length = *quoted;
      }
      rest_.remove_prefix(length);
    }
    return Element::Broken;
  }
  Element unfinished() noexcept {
    rest_ = {};
    return Element::Unfinished;
  }

  std::string_view rest_;
};

// Calls `known` with each directive; it says no to one whose value is not what it must be.
template <class Control, class Known>
void read(Control& control, std::string_view line, Known known) noexcept {
  DirectiveReader reader(line);
  Directive directive;
  while (true) {
    switch (reader.next(directive)) {
      case Element::End:
        return;
      case Element::Unfinished:
        control.no_store = true;
        break;
      case Element::Broken:
        control.no_cache = true;
        break;
      case Element::Read:
        known(directive);
        break;
    }
  }
}

// The stricter of two is the smaller one, and a number that is none is 0.
void set_least(std::optional<std::uint32_t>& into, const Directive& directive) noexcept {
  const std::uint32_t seconds = parse_delta_seconds(directive.value.value_or("")).value_or(0);
  into = std::min(into.value_or(kMaxDeltaS), seconds);
}

}  // namespace

std::optional<std::uint32_t> parse_delta_seconds(std::string_view text) noexcept {
  if (text.empty() || !std::ranges::all_of(text, is_digit)) return std::nullopt;
  const auto value = parse_decimal(text);  // nothing: more than 64 bits
  return static_cast<std::uint32_t>(
      std::min<std::uint64_t>(value.value_or(kMaxDeltaS), kMaxDeltaS));
}

void CacheControl::add(std::string_view line) noexcept {
  read(*this, line, [this](const Directive& directive) {
    const std::string_view name = directive.name;
    if (iequals(name, "no-store")) no_store = true;
    if (iequals(name, "no-cache")) no_cache = true;
    if (iequals(name, "private")) is_private = true;
    if (iequals(name, "public")) is_public = true;
    if (iequals(name, "must-revalidate")) must_revalidate = true;
    if (iequals(name, "proxy-revalidate")) proxy_revalidate = true;
    if (iequals(name, "must-understand")) must_understand = true;
    if (iequals(name, "no-transform")) no_transform = true;
    if (iequals(name, "immutable")) immutable = true;
    if (iequals(name, "max-age")) set_least(max_age, directive);
    if (iequals(name, "s-maxage")) set_least(s_maxage, directive);
    if (iequals(name, "stale-if-error")) set_least(stale_if_error, directive);
  });
}

void RequestCacheControl::add(std::string_view line) noexcept {
  read(*this, line, [this](const Directive& directive) {
    const std::string_view name = directive.name;
    if (iequals(name, "no-store")) no_store = true;
    if (iequals(name, "no-cache")) no_cache = true;
    if (iequals(name, "only-if-cached")) only_if_cached = true;
    if (iequals(name, "max-age")) set_least(max_age, directive);
    if (iequals(name, "stale-if-error")) set_least(stale_if_error, directive);
    if (iequals(name, "min-fresh")) {
      const auto seconds = parse_delta_seconds(directive.value.value_or(""));
      min_fresh = std::max(min_fresh.value_or(0), seconds.value_or(kMaxDeltaS));
    }
    // Without a value: however stale (5.2.1.2).
    if (iequals(name, "max-stale")) {
      if (directive.value) {
        set_least(max_stale, directive);
      } else {
        max_stale = max_stale.value_or(kMaxDeltaS);
      }
    }
  });
}

}  // namespace ron::http
