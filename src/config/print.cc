#include "config/print.h"

namespace ron::config {
namespace {

std::string bracketed(std::string_view open, const std::vector<std::string>& items,
                      std::string_view close) {
  std::string out(open);
  for (std::size_t i = 0; i < items.size(); ++i) out += (i == 0 ? "" : ", ") + items[i];
  return out += close;
}

std::string print_list(const TextList& list) {
  std::vector<std::string> items;
  for (const std::string& item : list) items.push_back(toml_string(item));
  return bracketed("[", items, "]");
}

std::string print_map(const CountMap& map) {
  std::vector<std::string> items;
  for (const auto& [name, count] : map)
    items.push_back(toml_string(name) + " = " + std::to_string(count));
  return items.empty() ? "{}" : bracketed("{ ", items, " }");
}

std::string print_records(const KeyDecl& decl, const Records& records) {
  std::vector<std::string> rows;
  for (const std::vector<Value>& row : records.rows) {
    std::vector<std::string> fields;
    for (std::size_t i = 0; i < row.size(); ++i) {
      fields.push_back(decl.fields[i].name + " = " + toml_text(decl.fields[i], row[i]));
    }
    rows.push_back(bracketed("{ ", fields, " }"));
  }
  return bracketed("[", rows, "]");
}

}  // namespace

std::string plain_text(const KeyDecl& decl, const Value& value) {
  switch (decl.kind) {
    case Kind::Bool:
      return value.as<bool>() ? "true" : "false";
    case Kind::Count:
      return std::to_string(value.as<std::uint64_t>());
    case Kind::Number:
      return print(value.as<double>());
    case Kind::Size:
      return base::print(value.as<base::Size>());
    case Kind::Duration:
      return base::print(value.as<base::Duration>());
    case Kind::Rate:
      return base::print(value.as<base::Rate>());
    case Kind::Text:
      return toml_string(value.as<std::string>());
    case Kind::TextList:
      return print_list(value.as<TextList>());
    case Kind::Address:
      return value.as<Address>().empty() ? "\"\"" : print(value.as<Address>());
    case Kind::Choice:
      return value.as<std::string>();
    case Kind::CountMap:
      return print_map(value.as<CountMap>());
    case Kind::Records:
      return print_records(decl, value.as<Records>());
  }
  return "";
}

std::string toml_text(const KeyDecl& decl, const Value& value) {
  switch (decl.kind) {
    case Kind::Size:
    case Kind::Duration:
    case Kind::Rate:
    case Kind::Choice:
      return toml_string(plain_text(decl, value));
    case Kind::Address:
      return toml_string(print(value.as<Address>()));
    default:
      return plain_text(decl, value);
  }
}

}  // namespace ron::config
