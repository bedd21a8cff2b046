#include "config/section.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "config/nearest.h"

namespace ron::config {
namespace {

// As a file or a flag has it.
std::optional<std::uint64_t> whole_number(const Raw& raw) {
  if (raw.shape == Raw::Shape::Integer && raw.integer >= 0) {
    return static_cast<std::uint64_t>(raw.integer);
  }
  if (raw.shape != Raw::Shape::Word) return std::nullopt;
  std::int64_t number = 0;
  const char* const end = raw.text.data() + raw.text.size();
  const auto [stop, status] = std::from_chars(raw.text.data(), end, number);
  if (status != std::errc{} || stop != end || number < 0) return std::nullopt;
  return static_cast<std::uint64_t>(number);
}

}  // namespace

const Section<SafetyConfig>& safety_section() {
  static const Section<SafetyConfig> section(
      "safety", "Consent to settings beyond the safety bounds.",
      Group<SafetyConfig>{bool_key("danger_ok", &SafetyConfig::danger_ok, "false", {}, Reload::Hot,
                                   "accept values beyond their safety bound")});
  return section;
}

Schema::Schema() { add(safety_section()); }

Schema& Schema::add(const AnySection& section) {
  sections_.push_back(&section);
  for (const KeyDecl& decl : section.decls()) {
    const std::string name = section.full(decl);
    if (keys_.emplace(name, &decl).second) names_.push_back(name);
  }
  return *this;
}

Schema& Schema::know(std::string name) {
  elsewhere_.push_back(std::move(name));
  return *this;
}

Schema& Schema::alias(std::string prefix, std::string target, Meant meant) {
  aliases_.push_back({std::move(prefix), std::move(target), meant});
  return *this;
}

std::expected<Raw, std::string> Schema::converted(std::string_view spelled, Raw raw) const {
  const auto alias =
      std::ranges::find_if(aliases_, [&](const Alias& each) { return each.prefix == spelled; });
  if (alias == aliases_.end() || alias->meant == Meant::Same) return raw;
  const std::optional<std::uint64_t> number = whole_number(raw);
  if (!number) return std::unexpected("expected a whole number, zero or more");
  switch (alias->meant) {
    case Meant::Same:
      break;
    case Meant::Seconds:
      return Raw::word(std::to_string(*number) + "s");
    case Meant::Milliseconds:
      return Raw::word(std::to_string(*number) + "ms");
    case Meant::OneLess:
      return Raw::word(std::to_string(*number + 1));
  }
  return raw;
}

std::string Schema::respelled(std::string_view path) const {
  for (const Alias& alias : aliases_) {
    if (!path.starts_with(alias.prefix)) continue;
    const std::string_view rest = path.substr(alias.prefix.size());
    if (rest.empty() || rest.front() == '.') return alias.target + std::string(rest);
  }
  return std::string(path);
}

std::string Schema::declared(std::string_view full_key) const {
  if (find(full_key) != nullptr) return std::string(full_key);
  std::string meant = respelled(full_key);
  return find(meant) != nullptr ? meant : "";
}

const KeyDecl* Schema::find(std::string_view full_key) const {
  const auto found = keys_.find(full_key);
  return found == keys_.end() ? nullptr : found->second;
}

bool Schema::has_section(std::string_view name) const {
  return std::any_of(sections_.begin(), sections_.end(),
                     [&](const AnySection* section) { return section->name() == name; });
}

bool Schema::knows(std::string_view name) const {
  return has_section(name) ||
         std::find(elsewhere_.begin(), elsewhere_.end(), name) != elsewhere_.end();
}

bool Schema::has_keys_below(std::string_view path) const {
  const std::string prefix = std::string(path) + ".";
  const auto below = keys_.lower_bound(prefix);
  return below != keys_.end() && below->first.starts_with(prefix);
}

bool Schema::is_table(std::string_view path) const {
  // The other spelling of a single key may be all there is below it.
  const auto begins_alias = [path](const Alias& alias) {
    return alias.prefix.starts_with(std::string(path) + ".");
  };
  return has_keys_below(path) || has_keys_below(respelled(path)) ||
         std::ranges::any_of(aliases_, begins_alias);
}

std::string Schema::nearest_key(std::string_view given) const {
  const std::string full_key = respelled(given);
  const std::string section = full_key.substr(0, full_key.find('.') + 1);
  const std::string ending = "." + full_key.substr(full_key.rfind('.') + 1);
  // The right name in the wrong table is better evidence than another name nearby.
  std::string same_name;
  for (const std::string& name : names_) {
    if (!name.starts_with(section) || !name.ends_with(ending)) continue;
    if (!same_name.empty()) return nearest(full_key, names_);
    same_name = name;
  }
  return same_name.empty() ? nearest(full_key, names_) : same_name;
}

std::string Schema::nearest_section(std::string_view name) const {
  std::vector<std::string> names = elsewhere_;
  for (const AnySection* section : sections_) names.push_back(section->name());
  return nearest(name, names);
}

std::string environment_name(std::string_view full_key) {
  std::string out = "RON_";
  for (const char c : full_key) {
    if (c == '.') {
      out += "__";
    } else {
      out += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    }
  }
  return out;
}

}  // namespace ron::config
