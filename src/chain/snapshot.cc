#include "chain/snapshot.h"

#include <algorithm>
#include <utility>

#include "b3/hash.h"
#include "base/cbor.h"

namespace ron::chain {
namespace {

using base::Code;
using base::fail;
using base::Result;
using base::Value;

constexpr std::size_t kSummaryFields = 6;
constexpr std::size_t kDescriptorFields = 2;
// Of all descriptors together: each may have lists.
constexpr base::ValueLimits kDescriptorLimits{.depth = 8, .items = 200 * kMaxDescriptors};

base::ObjectId read_hash(base::CborReader& reader) {
  std::array<std::byte, base::ObjectId::kBytes> digest{};
  reader.bytes(digest);
  return base::ObjectId(digest);
}

std::string encode_descriptors(const State& state) {
  Value::Array descriptors;
  for (const auto& [key, descriptor] : state.descriptors())
    descriptors.push_back(descriptor->value);
  Value::Array replaced;
  for (const auto& [key, descriptor] : state.replaced()) {
    replaced.push_back(Value(Value::Array{Value(key), descriptor ? descriptor->value : Value()}));
  }
  Value::Map map;
  map.emplace("descriptors", Value(std::move(descriptors)));
  map.emplace("replaced", Value(std::move(replaced)));
  return base::encode_cbor(Value(std::move(map)));
}

Result<DescriptorPtr> read_descriptor(const Value& value) {
  auto descriptor = parse_descriptor(value);
  if (!descriptor) return fail(std::move(descriptor.error()));
  return std::make_shared<const Descriptor>(std::move(*descriptor));
}

struct Restored {
  State::Descriptors descriptors;
  State::Replaced replaced;
};

Result<void> read_replaced(const Value::Array& list, Restored& restored) {
  for (const Value& item : list) {
    const Value::Array* const pair = item.array();
    if (pair == nullptr || pair->size() != 2 || pair->front().text() == nullptr) {
      return fail(Code::Malformed, "replaced is not a list of pairs");
    }
    DescriptorPtr was;
    if (!pair->back().is_null()) {
      auto descriptor = read_descriptor(pair->back());
      if (!descriptor) return fail(std::move(descriptor.error()));
      was = std::move(*descriptor);
    }
    restored.replaced.emplace_back(*pair->front().text(), std::move(was));
  }
  return {};
}

Result<Restored> decode_descriptors(base::ByteView bytes) {
  const auto value = base::decode_cbor(bytes, kDescriptorLimits);
  if (!value) return fail(value.error());
  const Value* const list = value->find("descriptors");
  const Value* const replaced = value->find("replaced");
  if (value->map() == nullptr || value->map()->size() != kDescriptorFields || list == nullptr ||
      list->array() == nullptr || replaced == nullptr || replaced->array() == nullptr) {
    return fail(Code::Malformed, "it is not {replaced, descriptors}");
  }
  Restored restored;
  DescriptorMap::Edit edit(restored.descriptors);
  for (const Value& item : *list->array()) {
    auto descriptor = read_descriptor(item);
    if (!descriptor) return fail(std::move(descriptor.error()));
    const std::string key = (*descriptor)->key();
    if (!edit.get(key)) edit.set(key, std::move(*descriptor));
  }
  edit.finish();
  if (auto good = read_replaced(*replaced->array(), restored); !good) {
    return fail(std::move(good.error()));
  }
  return restored;
}

}  // namespace

std::string encode(const Summary& summary) {
  std::string out;
  base::CborWriter writer(out);
  writer.map(kSummaryFields);
  writer.key("at").unsigned_number(static_cast<std::uint64_t>(summary.at_ms));
  writer.key("log").bytes(summary.log.digest());
  writer.key("hash").bytes(summary.head.hash.digest());
  writer.key("version").unsigned_number(summary.head.version);
  writer.key("governance").array(summary.governance_entries.size());
  for (const std::string& entry : summary.governance_entries) writer.bytes(base::as_bytes(entry));
  writer.key("descriptors").bytes(summary.descriptors.digest());
  return out;
}

Result<Summary> decode_summary(base::ByteView bytes) {
  base::CborReader reader(bytes);
  if (reader.map() != kSummaryFields) reader.refuse("the summary does not have its six fields");
  Summary summary;
  reader.key("at");
  const std::uint64_t at = reader.unsigned_number();
  reader.key("log");
  summary.log = read_hash(reader);
  reader.key("hash");
  summary.head.hash = read_hash(reader);
  reader.key("version");
  summary.head.version = reader.unsigned_number();
  reader.key("governance");
  const std::uint64_t count = reader.array();
  for (std::uint64_t i = 0; i < count && reader.ok(); ++i) {
    summary.governance_entries.emplace_back(base::as_text(reader.bytes()));
  }
  reader.key("descriptors");
  summary.descriptors = read_hash(reader);
  if (!reader.complete()) return fail(reader.error());
  summary.at_ms = static_cast<std::int64_t>(at);
  return summary;
}

base::ObjectId Snapshot::hash() const noexcept { return b3::hash(base::as_bytes(summary)); }

Snapshot take_snapshot(const State& state) {
  Snapshot snapshot;
  snapshot.descriptors = encode_descriptors(state);
  snapshot.summary =
      encode(Summary{state.head(), state.log(), state.at_ms(), state.governance_entries(),
                     b3::hash(base::as_bytes(snapshot.descriptors))});
  return snapshot;
}

std::string encode(const Snapshot& snapshot) {
  std::string out;
  out.reserve(snapshot.summary.size() + snapshot.descriptors.size() + 32);
  base::CborWriter writer(out);
  writer.array(2);
  writer.bytes(base::as_bytes(snapshot.summary));
  writer.bytes(base::as_bytes(snapshot.descriptors));
  return out;
}

Result<Snapshot> decode_snapshot(base::ByteView bytes) {
  base::CborReader reader(bytes);
  if (reader.array() != 2) reader.refuse("a snapshot has two parts");
  Snapshot snapshot;
  snapshot.summary = base::as_text(reader.bytes());
  snapshot.descriptors = base::as_text(reader.bytes());
  if (!reader.complete()) return fail(reader.error());
  return snapshot;
}

Result<State> restore(const Snapshot& snapshot, Signatures signatures) {
  const auto damaged = [](const std::string& why) {
    return fail(Code::IntegrityFail, "the state snapshot is damaged: " + why);
  };
  auto summary = decode_summary(base::as_bytes(snapshot.summary));
  if (!summary) return damaged(summary.error().message);
  if (summary->descriptors != b3::hash(base::as_bytes(snapshot.descriptors))) {
    return damaged("its descriptors are others than its summary says");
  }
  auto parts = decode_descriptors(base::as_bytes(snapshot.descriptors));
  if (!parts) return damaged(parts.error().message);
  auto state =
      State::restore(summary->head, summary->at_ms, summary->governance_entries,
                     std::move(parts->descriptors), std::move(parts->replaced), signatures);
  if (!state) return damaged(state.error().message);
  if (state->log() != summary->log) return damaged("its genesis is another log's");
  return state;
}

}  // namespace ron::chain
