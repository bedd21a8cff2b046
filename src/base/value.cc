#include "base/value.h"

#include <algorithm>
#include <type_traits>

#include "base/cbor.h"

namespace ron::base {
namespace {

static_assert(std::is_nothrow_move_constructible_v<Value>, "arrays move when they grow");
static_assert(Value::kMaxDepth <= CborWriter::kMaxDepth);
static_assert(Value::kMaxDepth <= CborReader::kMaxDepth);

void encode(CborWriter& cbor, const Value& value);

void encode_map(CborWriter& cbor, const Value::Map& map) {
  // The map is sorted by text, the encoding by length first.
  std::vector<const Value::Map::value_type*> pairs;
  pairs.reserve(map.size());
  for (const auto& pair : map) pairs.push_back(&pair);
  std::ranges::sort(pairs,
                    [](const auto* a, const auto* b) { return cbor_key_less(a->first, b->first); });
  cbor.map(pairs.size());
  for (const auto* pair : pairs) {
    cbor.key(pair->first);
    encode(cbor, pair->second);
  }
}

void encode(CborWriter& cbor, const Value& value) {
  switch (value.kind()) {
    case Value::Kind::Null:
      cbor.null();
      return;
    case Value::Kind::Bool:
      cbor.boolean(*value.boolean());
      return;
    case Value::Kind::Unsigned:
      cbor.unsigned_number(*value.unsigned_number());
      return;
    case Value::Kind::Negative:
      cbor.negative_number(*value.negative_number());
      return;
    case Value::Kind::Text:
      cbor.text(*value.text());
      return;
    case Value::Kind::Bytes:
      cbor.bytes(*value.bytes());
      return;
    case Value::Kind::Array:
      cbor.array(value.array()->size());
      for (const Value& item : *value.array()) encode(cbor, item);
      return;
    case Value::Kind::Map:
      encode_map(cbor, *value.map());
      return;
  }
}

// Builds the tree from a reader. After a failure what it returns means nothing; the reader knows.
class TreeBuilder {
 public:
  TreeBuilder(CborReader& reader, ValueLimits limits) : reader_(reader), limits_(limits) {}

  Value item(std::size_t depth) {
    if (limits_.items == 0) reader_.refuse("the document has too many items");
    const CborKind kind = reader_.next_kind();
    if (kind == CborKind::None) return {};
    --limits_.items;
    switch (kind) {
      case CborKind::Unsigned:
        return reader_.unsigned_number();
      case CborKind::Negative:
        return reader_.negative_number();
      case CborKind::Bytes:
        return reader_.bytes();
      case CborKind::Text:
        return reader_.text();
      case CborKind::Bool:
        return reader_.boolean();
      case CborKind::Array:
        return array(depth + 1);
      case CborKind::Map:
        return map(depth + 1);
      case CborKind::Null:
      case CborKind::None:
        reader_.null();
        return {};
    }
    return {};
  }

 private:
  // A count is only a claim until its items were read: no room is made for it in advance.
  Value array(std::size_t depth) {
    if (depth > limits_.depth) reader_.refuse("arrays and maps are nested too deeply");
    const std::uint64_t count = reader_.array();
    Value::Array items;
    for (std::uint64_t i = 0; i < count && reader_.ok(); ++i) items.push_back(item(depth));
    return items;
  }

  Value map(std::size_t depth) {
    if (depth > limits_.depth) reader_.refuse("arrays and maps are nested too deeply");
    const std::uint64_t count = reader_.map();
    Value::Map pairs;
    for (std::uint64_t i = 0; i < count && reader_.ok(); ++i) {
      const std::string_view key = reader_.key();
      pairs.emplace(key, item(depth));
    }
    return pairs;
  }

  CborReader& reader_;
  ValueLimits limits_;  // items: how many may still come
};

}  // namespace

const Value* Value::find(std::string_view key) const noexcept {
  const Map* pairs = map();
  if (pairs == nullptr) return nullptr;
  const auto found = pairs->find(key);
  return found != pairs->end() ? &found->second : nullptr;
}

std::string encode_cbor(const Value& value) {
  std::string out;
  CborWriter cbor(out);
  encode(cbor, value);
  return out;
}

Result<Value> decode_cbor(ByteView bytes, ValueLimits limits) {
  limits.depth = std::min(limits.depth, Value::kMaxDepth);
  CborReader reader(bytes);
  Value value = TreeBuilder(reader, limits).item(0);
  if (!reader.complete()) return fail(reader.error());
  return value;
}

}  // namespace ron::base
