#include "chain/fields.h"

#include <algorithm>

namespace ron::chain {
namespace {

using base::Code;
using base::fail;

constexpr unsigned char kFirstPrintable = 0x20;
constexpr unsigned char kDelete = 0x7F;

}  // namespace

bool is_plain_text(std::string_view text) noexcept {
  return std::ranges::all_of(text, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= kFirstPrintable && byte != kDelete;
  });
}

base::Result<Fields> Fields::of(const base::Value& value, std::string_view what,
                                std::initializer_list<std::string_view> known) {
  const base::Value::Map* const map = value.map();
  if (map == nullptr) return fail(Code::Malformed, std::string(what) + " must be an object");
  for (const auto& [key, unused] : *map) {
    if (std::ranges::find(known, std::string_view(key)) == known.end()) {
      std::string list;
      for (const std::string_view one : known) list.append(list.empty() ? "" : ", ").append(one);
      return fail(Code::Malformed, std::string(what) + " has no field '" +
                                       (is_plain_text(key) ? key.substr(0, kTimeChars) : "?") +
                                       "'; it may have " + list);
    }
  }
  return Fields(value, what);
}

base::Error Fields::wrong(std::string_view key, std::string_view must) const {
  return {Code::Malformed,
          std::string(key).append(" of ").append(what_).append(" must be ").append(must)};
}

base::Result<std::string> Fields::text(std::string_view key, std::size_t most_chars) const {
  const base::Value* const value = value_->find(key);
  const std::string* const text = value != nullptr ? value->text() : nullptr;
  if (text == nullptr || text->empty() || text->size() > most_chars || !is_plain_text(*text)) {
    return fail(wrong(
        key, "a text of 1 to " + std::to_string(most_chars) + " bytes without control characters"));
  }
  return *text;
}

base::Result<std::uint64_t> Fields::number(std::string_view key) const {
  const base::Value* const value = value_->find(key);
  const auto number = value != nullptr ? value->unsigned_number() : std::nullopt;
  if (!number) return fail(wrong(key, "a whole number, zero or more"));
  return *number;
}

base::Result<const base::Value::Array*> Fields::array(std::string_view key,
                                                      std::size_t most_items) const {
  const base::Value* const value = value_->find(key);
  const base::Value::Array* const array = value != nullptr ? value->array() : nullptr;
  if (array == nullptr || array->size() > most_items) {
    return fail(wrong(key, "a list of at most " + std::to_string(most_items)));
  }
  return array;
}

base::Result<const base::Value*> Fields::any(std::string_view key) const {
  const base::Value* const value = value_->find(key);
  if (value == nullptr) return fail(wrong(key, "there"));
  return value;
}

}  // namespace ron::chain
