#include "config/read.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <expected>

#include "config/bounds.h"
#include "config/nearest.h"
#include "config/toml.h"

namespace ron::config {
namespace {

using Shape = Raw::Shape;
// A value, or one plain clause about what is wrong with it.
using Reading = std::expected<Value, std::string>;

template <class T>
Reading typed(T value) {
  Value out;
  out.data = std::move(value);
  return out;
}

std::string_view shape_name(Shape shape) {
  switch (shape) {
    case Shape::Boolean:
      return "a boolean";
    case Shape::Integer:
      return "a whole number";
    case Shape::Float:
      return "a fractional number";
    case Shape::List:
      return "a list";
    case Shape::Table:
      return "a table";
    case Shape::Date:
      return "a date or time";
    case Shape::Word:
    case Shape::String:
      break;
  }
  return "text";
}

std::string_view wanted(Kind kind) {
  switch (kind) {
    case Kind::Bool:
      return "true or false";
    case Kind::Count:
      return "a whole number, zero or more";
    case Kind::Number:
      return "a number such as 0.5";
    case Kind::Size:
      return "a size such as 64KiB";
    case Kind::Duration:
      return "a duration such as 5s";
    case Kind::Rate:
      return "a rate such as 50MiB/s";
    case Kind::TextList:
      return "a list of texts";
    case Kind::Address:
      return "an address such as 127.0.0.1:8080";
    case Kind::CountMap:
      return "a table from name to whole number";
    case Kind::Records:
      return "an array of tables";
    case Kind::Text:
    case Kind::Choice:
      break;
  }
  return "text in quotes";
}

std::unexpected<std::string> mismatch(const KeyDecl& decl, const Raw& raw) {
  return std::unexpected("expected " + std::string(wanted(decl.kind)) + ", got " +
                         std::string(shape_name(raw.shape)));
}

bool is_textual(const Raw& raw) { return raw.shape == Shape::Word || raw.shape == Shape::String; }

bool all_digits(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// The whole of `text` as a number, or nothing.
template <class Number>
std::optional<Number> from_text(std::string_view text) {
  Number number{};
  const auto* end = text.data() + text.size();
  const auto [stop, status] = std::from_chars(text.data(), end, number);
  if (status != std::errc{} || stop != end) return std::nullopt;
  return number;
}

Reading read_bool(const KeyDecl& decl, const Raw& raw) {
  if (raw.shape == Shape::Boolean) return typed(raw.boolean);
  if (raw.shape == Shape::Word && (raw.text == "true" || raw.text == "false")) {
    return typed(raw.text == "true");
  }
  return mismatch(decl, raw);
}

Reading read_count(const KeyDecl& decl, const Raw& raw) {
  if (raw.shape == Shape::Integer && raw.integer >= 0) {
    return typed(static_cast<std::uint64_t>(raw.integer));
  }
  if (raw.shape == Shape::Integer) return std::unexpected("a count cannot be negative");
  if (raw.shape == Shape::String && all_digits(raw.text)) {
    return std::unexpected("write the number without quotes");
  }
  if (raw.shape == Shape::Word) {
    const auto number = from_text<std::uint64_t>(raw.text);
    if (number && *number <= INT64_MAX) return typed(*number);
  }
  return mismatch(decl, raw);
}

Reading read_number(const KeyDecl& decl, const Raw& raw) {
  std::optional<double> number;
  if (raw.shape == Shape::Integer) number = static_cast<double>(raw.integer);
  if (raw.shape == Shape::Float) number = raw.number;
  if (raw.shape == Shape::Word) number = from_text<double>(raw.text);
  if (!number) return mismatch(decl, raw);
  if (!std::isfinite(*number)) return std::unexpected("expected a finite number");
  return typed(*number);
}

template <class T>
Reading from_units(const base::Result<T>& parsed) {
  if (parsed) return typed(*parsed);
  return std::unexpected(printable(parsed.error().message, 160));
}

Reading read_size(const KeyDecl& decl, const Raw& raw) {
  if (raw.shape == Shape::Integer && raw.integer >= 0) {
    return typed(base::Size{static_cast<std::uint64_t>(raw.integer)});
  }
  if (raw.shape == Shape::Integer) return std::unexpected("a size cannot be negative");
  if (!is_textual(raw)) return mismatch(decl, raw);
  return from_units(base::parse_size(raw.text));
}

Reading read_duration(const KeyDecl& decl, const Raw& raw) {
  const bool bare = raw.shape == Shape::Integer || (is_textual(raw) && all_digits(raw.text));
  if (bare) {
    const std::string digits = raw.shape == Shape::Integer
                                   ? std::to_string(std::max<std::int64_t>(raw.integer, 0))
                                   : printable(raw.text, 20);
    return std::unexpected("write a unit, for example " + digits + "s");
  }
  if (raw.shape == Shape::Float) {
    return std::unexpected("write a whole number with a unit, for example 1500ms");
  }
  if (!is_textual(raw)) return mismatch(decl, raw);
  return from_units(base::parse_duration(raw.text));
}

Reading read_rate(const KeyDecl& decl, const Raw& raw) {
  if (raw.shape == Shape::Integer) {
    return std::unexpected("write a size per second, for example 50MiB/s");
  }
  if (!is_textual(raw)) return mismatch(decl, raw);
  return from_units(base::parse_rate(raw.text));
}

// Control characters would let a value forge log lines and terminal output.
Reading read_text(const KeyDecl& decl, const Raw& raw) {
  if (!is_textual(raw)) return mismatch(decl, raw);
  if (raw.text.size() > kMaxTextBytes) return std::unexpected("is longer than 4096 bytes");
  for (const char c : raw.text) {
    const auto code = static_cast<unsigned char>(c);
    if (code < 0x20 || code == 0x7F) return std::unexpected("holds a control character");
  }
  return typed(raw.text);
}

Reading read_choice(const KeyDecl& decl, const Raw& raw) {
  Reading text = read_text(decl, raw);
  if (!text) return text;
  const auto& choices = decl.choices;
  if (std::find(choices.begin(), choices.end(), raw.text) != choices.end()) return text;
  return std::unexpected("'" + printable(raw.text) + "' is not a choice");
}

Reading read_address(const KeyDecl& decl, const Raw& raw) {
  if (!is_textual(raw)) return mismatch(decl, raw);
  if (raw.text.empty() && decl.options.allow_empty) return typed(Address{});
  return from_units(parse_address(raw.text));
}

// `a,b` from a word; blanks around items are not part of them.
Raw split_words(std::string_view text) {
  Raw list;
  list.shape = Shape::List;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    std::string_view item = text.substr(0, comma);
    while (item.starts_with(' ')) item.remove_prefix(1);
    while (item.ends_with(' ')) item.remove_suffix(1);
    list.items.push_back(Raw::word(std::string(item)));
    if (list.items.size() > kMaxItems) break;
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return list;
}

// Lists, maps and records from a flag or the environment are written as TOML.
std::expected<Raw, std::string> structured(const KeyDecl& decl, const Raw& raw) {
  if (raw.shape != Shape::Word) return raw;
  if (raw.text.starts_with('[') || raw.text.starts_with('{')) {
    auto parsed = parse_toml_value(raw.text);
    if (!parsed) return std::unexpected(parsed.error().what);
    return std::move(*parsed);
  }
  if (decl.kind == Kind::TextList) return split_words(raw.text);
  if (!raw.text.empty()) return raw;
  Raw none;
  none.shape = decl.kind == Kind::CountMap ? Shape::Table : Shape::List;
  return none;
}

Reading read_text_list(const KeyDecl& decl, const Raw& raw) {
  TextList list;
  if (raw.shape == Shape::String) {
    Reading one = read_text(decl, raw);
    if (!one) return one;
    list.push_back(raw.text);
    return typed(std::move(list));
  }
  if (raw.shape != Shape::List) return mismatch(decl, raw);
  if (raw.items.size() > kMaxItems) return std::unexpected("has more than 1024 items");
  for (std::size_t i = 0; i < raw.items.size(); ++i) {
    const Reading one = read_text(decl, raw.items[i]);
    if (!one) return std::unexpected("item " + std::to_string(i + 1) + ": " + one.error());
    list.push_back(raw.items[i].text);
  }
  return typed(std::move(list));
}

Reading read_count_map(const KeyDecl& decl, const Raw& raw) {
  if (raw.shape != Shape::Table) return mismatch(decl, raw);
  if (raw.items.size() > kMaxItems) return std::unexpected("has more than 1024 entries");
  CountMap map;
  for (const Raw& member : raw.items) {
    const std::string name = printable(member.name);
    if (name != member.name || name.empty()) {
      return std::unexpected("'" + name + "' is not a usable name: 1 to 96 printable characters");
    }
    const Reading count = read_count(decl, member);
    if (!count) return std::unexpected(name + ": expected a whole number, zero or more");
    map.emplace(name, count->as<std::uint64_t>());
  }
  return typed(std::move(map));
}

Reading read_kind(const KeyDecl& decl, const Raw& raw) {
  switch (decl.kind) {
    case Kind::Bool:
      return read_bool(decl, raw);
    case Kind::Count:
      return read_count(decl, raw);
    case Kind::Number:
      return read_number(decl, raw);
    case Kind::Size:
      return read_size(decl, raw);
    case Kind::Duration:
      return read_duration(decl, raw);
    case Kind::Rate:
      return read_rate(decl, raw);
    case Kind::Text:
      return read_text(decl, raw);
    case Kind::TextList:
      return read_text_list(decl, raw);
    case Kind::Address:
      return read_address(decl, raw);
    case Kind::Choice:
      return read_choice(decl, raw);
    case Kind::CountMap:
      return read_count_map(decl, raw);
    case Kind::Records:
      break;
  }
  return mismatch(decl, raw);
}

void report(const ReadContext& context, Problem::Kind kind, std::string what,
            std::string allowed = "", std::string near = "") {
  context.problems.add(
      {kind, context.key, context.source, std::move(what), std::move(allowed), std::move(near)});
}

// One row of an array of tables. Every field is read even after one failed: all problems count.
std::optional<std::vector<Value>> read_row(const KeyDecl& decl, const Raw& row,
                                           const ReadContext& context) {
  const std::size_t before = context.problems.count();
  if (row.shape != Shape::Table) {
    report(context, Problem::Kind::WrongType,
           "expected a table, got " + std::string(shape_name(row.shape)));
    return std::nullopt;
  }
  const auto inner = [&](const std::string& name, std::uint32_t line) {
    ReadContext field{context.key + "." + name, context.source, context.danger_ok,
                      context.problems};
    if (line != 0 && field.source.layer == Layer::File) field.source.line = line;
    return field;
  };
  std::vector<std::string> names;
  for (const KeyDecl& field : decl.fields) names.push_back(field.name);
  for (const Raw& member : row.items) {
    if (std::find(names.begin(), names.end(), member.name) != names.end()) continue;
    report(inner(printable(member.name), member.line), Problem::Kind::UnknownKey, "unknown key", "",
           context.problems.full() ? "" : nearest(member.name, names));
  }
  std::vector<Value> values;
  for (const KeyDecl& field : decl.fields) {
    const auto member = std::find_if(row.items.begin(), row.items.end(),
                                     [&](const Raw& raw) { return raw.name == field.name; });
    const bool given = member != row.items.end();
    if (!given && field.options.required) {
      report(inner(field.name, row.line), Problem::Kind::WrongType, "must be given");
      continue;
    }
    const Raw raw = given ? *member : Raw::word(field.default_text);
    auto value = read_value(field, raw, inner(field.name, raw.line));
    if (value) values.push_back(std::move(*value));
  }
  if (context.problems.count() != before) return std::nullopt;
  return values;
}

std::optional<Value> read_records(const KeyDecl& decl, const Raw& raw, const ReadContext& context) {
  if (raw.shape != Shape::List) {
    report(context, Problem::Kind::WrongType, mismatch(decl, raw).error());
    return std::nullopt;
  }
  if (raw.items.size() > kMaxItems) {
    report(context, Problem::Kind::OutOfBounds, "has more than 1024 entries");
    return std::nullopt;
  }
  Records records;
  for (std::size_t i = 0; i < raw.items.size(); ++i) {
    const Raw& item = raw.items[i];
    ReadContext row{context.key + "[" + std::to_string(i) + "]", context.source, context.danger_ok,
                    context.problems};
    if (item.line != 0 && row.source.layer == Layer::File) row.source.line = item.line;
    auto values = read_row(decl, item, row);
    if (values) records.rows.push_back(std::move(*values));
  }
  if (records.rows.size() != raw.items.size()) return std::nullopt;
  return *typed(std::move(records));
}

}  // namespace

std::optional<Value> read_value(const KeyDecl& decl, const Raw& raw, const ReadContext& context) {
  std::optional<Value> value;
  const auto tree =
      decl.kind == Kind::TextList || decl.kind == Kind::CountMap || decl.kind == Kind::Records
          ? structured(decl, raw)
          : std::expected<Raw, std::string>(raw);
  if (tree && decl.kind == Kind::Records) {
    value = read_records(decl, *tree, context);
  } else {
    Reading reading = tree ? read_kind(decl, *tree) : Reading(std::unexpected(tree.error()));
    if (reading) {
      value = std::move(*reading);
    } else {
      const std::string what = decl.options.secret
                                   ? "cannot be read (the value is secret and not shown)"
                                   : std::move(reading.error());
      report(context, Problem::Kind::WrongType, what, allowed_text(decl));
    }
  }
  if (!value) return std::nullopt;
  if (auto violation = check_bounds(decl, *value, context.danger_ok)) {
    report(context, violation->kind, std::move(violation->what), allowed_text(decl));
    return std::nullopt;
  }
  return value;
}

}  // namespace ron::config
