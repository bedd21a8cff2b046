#include "config/toml.h"

#define TOML_EXCEPTIONS 0
#define TOML_HEADER_ONLY 1
#define TOML_ENABLE_FORMATTERS 0
#define TOML_MAX_NESTED_VALUES 16
#include <algorithm>
#include <tuple>

#include <toml++/toml.h>

namespace ron::config {
namespace {

static_assert(TOML_MAX_NESTED_VALUES == kMaxNestedValues);

// Refuses keys of too many parts before the parser sees them: the parser builds one nested table
// per part and destroys them recursively, so `a.a.a...` alone would overflow the stack. Strings and
// comments are skipped the way TOML delimits them; on malformed text the parser stops no later than
// this scanner loses track.
class KeyDepthGuard {
 public:
  explicit KeyDepthGuard(std::string_view text) noexcept : text_(text) {}

  // The line of the first key that is too deep, or 0.
  std::uint32_t find() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '"' || c == '\'') {
        skip_string(c);
        continue;
      }
      if (c == '#') {
        skip_comment();
        continue;
      }
      if (c == '\n') ++line_;
      if (c == '.' && ++dots_ >= kMaxKeyParts) return line_;
      if (c == '\n' || c == '=' || c == '{' || c == ',') dots_ = 0;
      ++at_;
    }
    return 0;
  }

 private:
  void skip_comment() {
    while (at_ < text_.size() && text_[at_] != '\n') ++at_;
  }

  void skip_string(char quote) {
    const std::string three(3, quote);
    const bool long_form = text_.substr(at_, 3) == three;
    at_ += long_form ? 3 : 1;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\n') {
        if (!long_form) return;  // unterminated: the parser stops here
        ++line_;
      }
      if (c == '\\' && quote == '"') {
        // The escaped character is passed over below unless it ends a line.
        if (at_ + 1 < text_.size() && text_[at_ + 1] != '\n') ++at_;
      } else if (c == quote && (!long_form || text_.substr(at_, 3) == three)) {
        at_ += long_form ? 3 : 1;
        // A long string may end in up to two more quotes that belong to it.
        for (int extra = 0; long_form && extra < 2 && text_.substr(at_, 1) == three.substr(0, 1);
             ++extra) {
          ++at_;
        }
        return;
      }
      ++at_;
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t dots_ = 0;
  std::uint32_t line_ = 1;
};

Raw convert(const toml::node& node);

void convert_table(const toml::table& table, Raw& out) {
  out.shape = Raw::Shape::Table;
  for (const auto& [key, child] : table) {
    Raw member = convert(child);
    member.name = std::string(key.str());
    // The line of the key is what an editor should jump to; tables opened by [header] have it too.
    if (key.source().begin.line != 0) member.line = key.source().begin.line;
    out.items.push_back(std::move(member));
  }
  std::sort(out.items.begin(), out.items.end(), [](const Raw& a, const Raw& b) {
    return std::tie(a.line, a.name) < std::tie(b.line, b.name);
  });
}

Raw convert(const toml::node& node) {
  Raw out;
  out.line = node.source().begin.line;
  switch (node.type()) {
    case toml::node_type::table:
      convert_table(*node.as_table(), out);
      break;
    case toml::node_type::array:
      out.shape = Raw::Shape::List;
      for (const toml::node& item : *node.as_array()) out.items.push_back(convert(item));
      break;
    case toml::node_type::string:
      out.shape = Raw::Shape::String;
      out.text = node.as_string()->get();
      break;
    case toml::node_type::integer:
      out.shape = Raw::Shape::Integer;
      out.integer = node.as_integer()->get();
      break;
    case toml::node_type::floating_point:
      out.shape = Raw::Shape::Float;
      out.number = node.as_floating_point()->get();
      break;
    case toml::node_type::boolean:
      out.shape = Raw::Shape::Boolean;
      out.boolean = node.as_boolean()->get();
      break;
    default:
      out.shape = Raw::Shape::Date;
      break;
  }
  return out;
}

}  // namespace

std::expected<Raw, TomlError> parse_toml(std::string_view text) {
  if (text.size() > kMaxTomlBytes) {
    return std::unexpected(TomlError{0, 0, "the file is larger than 1MiB"});
  }
  if (const std::uint32_t line = KeyDepthGuard(text).find(); line != 0) {
    return std::unexpected(TomlError{line, 0, "a key has too many parts"});
  }
  const toml::parse_result parsed = toml::parse(text);
  if (!parsed) {
    const toml::parse_error& error = parsed.error();
    return std::unexpected(TomlError{error.source().begin.line, error.source().begin.column,
                                     "not valid TOML: " + printable(error.description(), 200)});
  }
  return convert(parsed.table());
}

std::expected<Raw, TomlError> parse_toml_value(std::string_view text) {
  auto root = parse_toml("value = " + std::string(text));
  if (!root) return std::unexpected(root.error());
  // A line break in the text could smuggle in more keys.
  if (root->items.size() != 1) return std::unexpected(TomlError{1, 0, "not a single TOML value"});
  return std::move(root->items.front());
}

}  // namespace ron::config
