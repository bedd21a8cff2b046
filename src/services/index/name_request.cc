#include "services/index/name_request.h"

#include <utility>

#include "catalog/media_type.h"
#include "chain/fields.h"

namespace ron::index {
namespace {

using base::Code;
using base::fail;
using base::Result;
using base::Value;

constexpr std::size_t kTypeChars = 255;
constexpr std::size_t kMetaBytes = 2048;

Result<std::map<std::string, std::string>> parse_meta(const Value& value) {
  const Value::Map* const map = value.map();
  if (map == nullptr) return fail(Code::Malformed, "meta must be a map of texts");
  std::map<std::string, std::string> meta;
  std::size_t bytes = 0;
  for (const auto& [key, one] : *map) {
    const std::string* const text = one.text();
    if (text == nullptr || key.empty()) {
      return fail(Code::Malformed, "meta must be a map of texts");
    }
    bytes += key.size() + text->size();
    meta.emplace(key, *text);
  }
  if (bytes > kMetaBytes) return fail(Code::Malformed, "meta has more than 2 KiB");
  return meta;
}

}  // namespace

Result<SetRequest> parse_set_request(const Value& value) {
  const auto fields =
      chain::Fields::of(value, "a name", {"target", "type", "meta", "expected_version"});
  if (!fields) return fail(fields.error());
  SetRequest out;
  const auto target = fields->text("target", base::ObjectId::kTextLength);
  if (!target) return fail(target.error());
  const auto address = base::ObjectId::parse(*target);
  if (!address) return fail(address.error());
  out.wanted.target = *address;
  if (fields->has("type")) {
    auto type = fields->text("type", kTypeChars);
    if (!type) return fail(type.error());
    if (!catalog::is_media_type(*type)) return fail(Code::Malformed, "type must be a media type");
    out.wanted.type = std::move(*type);
  }
  if (const Value* const given = value.find("meta")) {
    auto meta = parse_meta(*given);
    if (!meta) return fail(meta.error());
    out.wanted.meta = std::move(*meta);
  }
  if (fields->has("expected_version")) {
    const auto expected = fields->number("expected_version");
    if (!expected) return fail(expected.error());
    out.expected = *expected;
  }
  return out;
}

}  // namespace ron::index
