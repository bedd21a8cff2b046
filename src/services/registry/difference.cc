#include "services/registry/difference.h"

#include <map>
#include <string>
#include <utility>

#include "chain/entry.h"

namespace ron::registry {
namespace {

using base::Value;

using Things = std::map<std::string, Value>;

Things signers_of(const chain::Governance& governance) {
  Things things;
  for (const chain::Signer& signer : governance.set.signers) {
    things.emplace("signer/" + signer.id, chain::to_value(signer));
  }
  things.emplace("threshold", governance.set.threshold);
  return things;
}

Value at(const Things& things, const std::string& key) {
  const auto found = things.find(key);
  return found == things.end() ? Value() : found->second;
}

// Of what is there.
Value bytes_of(const Value& value) {
  return value.is_null() ? Value() : Value(base::encode_cbor(value).size());
}

void compare(const Things& before, const Things& after, std::size_t left, Value::Array& out) {
  Things all = before;
  all.insert(after.begin(), after.end());
  for (const auto& [key, unused] : all) {
    Value was = at(before, key);
    Value is = at(after, key);
    if (was == is) continue;
    Value was_bytes = bytes_of(was);
    Value is_bytes = bytes_of(is);
    const std::size_t bytes =
        was_bytes.unsigned_number().value_or(0) + is_bytes.unsigned_number().value_or(0);
    if (bytes > left) {
      left = 0;
      out.emplace_back(Value::Map{{"what", key},
                                  {"before_bytes", std::move(was_bytes)},
                                  {"after_bytes", std::move(is_bytes)}});
      continue;
    }
    left -= bytes;
    out.emplace_back(
        Value::Map{{"what", key}, {"before", std::move(was)}, {"after", std::move(is)}});
  }
}

Value value_of(const chain::DescriptorPtr& descriptor) {
  return descriptor ? descriptor->value : Value();
}

}  // namespace

// The change is applied to a copy, and what it replaced says what differs.
Value difference(const chain::State& state, const chain::Payload& payload, std::size_t most_bytes) {
  Value::Array out;
  if (!state.check(payload)) return out;
  chain::State after = state;
  chain::Entry entry;
  entry.version = state.head().version + 1;
  after.apply(entry, payload, {}, {});
  Things before_things = signers_of(state.governance());
  Things after_things = signers_of(after.governance());
  for (const auto& [key, unused] : after.replaced()) {
    const auto was = state.descriptors().find(key);
    const auto is = after.descriptors().find(key);
    before_things[key] = was == state.descriptors().end() ? Value() : value_of(was->second);
    after_things[key] = is == after.descriptors().end() ? Value() : value_of(is->second);
  }
  compare(before_things, after_things, most_bytes, out);
  return out;
}

}  // namespace ron::registry
