#include "chain/descriptor.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <utility>

#include "base/encoding.h"
#include "chain/fields.h"

namespace ron::chain {
namespace {

using base::Code;
using base::fail;

constexpr std::size_t kIdChars = 63;
constexpr std::size_t kTitleChars = 128;
constexpr std::size_t kUrlChars = 256;
constexpr std::size_t kListItems = 64;
constexpr std::size_t kKeyBytes = 32;
// The two lists of a placement, each id with its head, and all its other fields.
static_assert(2 * kListItems * (kIdChars + 2) + 1024 <= kMaxDescriptorBytes);

// What a field may hold.
enum class Kind : std::uint8_t { Id, Ids, Title, Url, Key, Number, Word };

struct Known {
  std::string_view name;
  Kind kind;
  std::uint64_t min = 0;        // Number
  std::uint64_t max = 0;        // Number
  std::string_view words = {};  // Word: separated by spaces
};

constexpr std::array kNodeFields = {
    Known{"url", Kind::Url},
    Known{"region", Kind::Id},
    Known{"public_key", Kind::Key},
    Known{"weight", Kind::Number, 0, 65'535},
    Known{"state", Kind::Word, 0, 0, "active draining down"},
};
constexpr std::array kServiceFields = {
    Known{"kind", Kind::Word, 0, 0, "gateway storage index registry edge"},
    Known{"url", Kind::Url},
    Known{"node", Kind::Id},
    Known{"region", Kind::Id},
};
constexpr std::array kRegionFields = {
    Known{"title", Kind::Title},
    Known{"parent", Kind::Id},
};
constexpr std::array kPlacementFields = {
    Known{"regions", Kind::Ids},
    Known{"nodes", Kind::Ids},
    Known{"replication_factor", Kind::Number, 1, 16},
    Known{"ec_data_shards", Kind::Number, 1, 32},
    Known{"ec_parity_shards", Kind::Number, 1, 16},
};

struct Type {
  std::string_view name;
  std::span<const Known> fields;
};
constexpr std::array kTypes = {
    Type{"node", kNodeFields},
    Type{"service", kServiceFields},
    Type{"region", kRegionFields},
    Type{"placement", kPlacementFields},
};

const Type* type_of(std::string_view name) noexcept {
  const auto found = std::ranges::find(kTypes, name, &Type::name);
  return found == kTypes.end() ? nullptr : &*found;
}

bool is_id(const base::Value& value) noexcept {
  return value.text() != nullptr && is_descriptor_id(*value.text());
}

bool is_url(const base::Value& value) noexcept {
  const std::string* const text = value.text();
  if (text == nullptr || text->size() > kUrlChars) return false;
  constexpr std::array<std::string_view, 3> kSchemes = {"http://", "https://", "unix:/"};
  const bool known = std::ranges::any_of(kSchemes, [text](std::string_view scheme) {
    return text->starts_with(scheme) && text->size() > scheme.size();
  });
  return known && std::ranges::all_of(*text, [](char c) { return c > ' ' && c < '\x7F'; });
}

bool is_key(const base::Value& value) {
  if (value.text() == nullptr) return false;
  const auto raw = base::from_base64(*value.text());
  return raw && raw->size() == kKeyBytes;
}

bool is_word(const base::Value& value, std::string_view words) {
  const std::string* const text = value.text();
  if (text == nullptr || text->empty() || text->contains(' ')) return false;
  return (" " + std::string(words) + " ").contains(" " + *text + " ");
}

// What the field must be, in words; empty if it is.
std::string problem(const Known& known, const base::Value& value) {
  switch (known.kind) {
    case Kind::Id:
      return is_id(value) ? "" : "an id such as eu-west-1";
    case Kind::Ids: {
      const base::Value::Array* const list = value.array();
      const bool good = list != nullptr && list->size() <= kListItems &&
                        std::ranges::all_of(*list, [](const auto& one) { return is_id(one); });
      return good ? "" : "a list of ids";
    }
    case Kind::Title: {
      const std::string* const text = value.text();
      const bool good = text != nullptr && text->size() <= kTitleChars && is_plain_text(*text);
      return good ? "" : "a text of at most " + std::to_string(kTitleChars) + " bytes";
    }
    case Kind::Url:
      return is_url(value) ? "" : "http://host:port, https://host or unix:/path";
    case Kind::Key:
      return is_key(value) ? "" : "the base64 of the 32 bytes of an Ed25519 key";
    case Kind::Number: {
      const auto number = value.unsigned_number();
      const bool good = number && *number >= known.min && *number <= known.max;
      return good ? ""
                  : "a number from " + std::to_string(known.min) + " to " +
                        std::to_string(known.max);
    }
    case Kind::Word:
      return is_word(value, known.words) ? "" : "one of: " + std::string(known.words);
  }
  return "known";
}

base::Result<void> check_fields(const Type& type, const base::Value::Map& map) {
  for (const auto& [key, value] : map) {
    if (key == "type" || key == "id") continue;
    const auto known = std::ranges::find(type.fields, std::string_view(key), &Known::name);
    if (known == type.fields.end()) {
      std::string list;
      for (const Known& one : type.fields) list.append(list.empty() ? "" : ", ").append(one.name);
      return fail(Code::Malformed, "a " + std::string(type.name) + " has no field '" +
                                       (is_plain_text(key) ? key.substr(0, kIdChars) : "?") +
                                       "'; it may have " + list);
    }
    const std::string must_be = problem(*known, value);
    if (!must_be.empty()) {
      return fail(Code::Malformed, key + " of a " + std::string(type.name) + " must be " + must_be);
    }
  }
  return {};
}

std::string type_names() {
  std::string list;
  for (const Type& type : kTypes) list.append(list.empty() ? "" : ", ").append(type.name);
  return list;
}

}  // namespace

bool is_descriptor_type(std::string_view type) noexcept { return type_of(type) != nullptr; }

bool is_descriptor_id(std::string_view id) noexcept {
  const auto is_plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  if (id.empty() || id.size() > kIdChars || !is_plain(id.front())) return false;
  return std::ranges::all_of(
      id, [&](char c) { return is_plain(c) || c == '.' || c == '_' || c == '-'; });
}

base::Result<std::string> parse_descriptor_key(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos || !is_descriptor_type(text.substr(0, slash)) ||
      !is_descriptor_id(text.substr(slash + 1))) {
    return fail(Code::Malformed,
                "'" + std::string(is_plain_text(text) ? text.substr(0, 2 * kIdChars) : "?") +
                    "' is not TYPE/ID with one of the types " + type_names());
  }
  return std::string(text);
}

base::Result<Descriptor> parse_descriptor(const base::Value& value) {
  const base::Value::Map* const map = value.map();
  if (map == nullptr) return fail(Code::Malformed, "a descriptor must be an object");
  const base::Value* const name = value.find("type");
  const Type* const type =
      name != nullptr && name->text() != nullptr ? type_of(*name->text()) : nullptr;
  if (type == nullptr) {
    return fail(Code::Malformed, "type of a descriptor must be one of " + type_names());
  }
  const base::Value* const id = value.find("id");
  if (id == nullptr || !is_id(*id)) {
    return fail(Code::Malformed, "id of a " + std::string(type->name) +
                                     " must begin with a letter or digit and have at most 63 "
                                     "characters out of a-z 0-9 . _ -");
  }
  if (auto good = check_fields(*type, *map); !good) return fail(std::move(good.error()));
  return Descriptor{std::string(type->name), *id->text(), value, base::encode_cbor(value).size()};
}

}  // namespace ron::chain
