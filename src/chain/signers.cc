#include "chain/signers.h"

#include <algorithm>
#include <utility>

#include "b3/hash.h"
#include "base/encoding.h"
#include "base/rfc3339.h"
#include "chain/fields.h"

namespace ron::chain {
namespace {

using base::Code;
using base::fail;

base::Result<Signer> parse_signer(const base::Value& value) {
  const auto fields = Fields::of(value, "a signer", {"name", "public_key", "not_after"});
  if (!fields) return fail(fields.error());
  auto name = fields->text("name", kSignerNameChars);
  if (!name) return fail(std::move(name.error()));
  const auto key_text = fields->text("public_key", 1024);
  if (!key_text) return fail(key_text.error());
  const auto raw = base::from_base64_exact(*key_text);
  if (!raw || raw->size() != auth::PublicKey{}.bytes.size()) {
    return fail(Code::Malformed, "public_key of signer '" + *name +
                                     "' is not the base64 of the 32 bytes of an Ed25519 key");
  }
  auth::PublicKey key;
  std::ranges::copy(*raw, key.bytes.begin());
  if (const auto usable = auth::VerifyingKey::make(key); !usable) {
    return fail(Code::Malformed, "public_key of signer '" + *name + "': " + usable.error().message);
  }
  if (!fields->has("not_after")) return make_signer(std::move(*name), key);
  const auto until_text = fields->text("not_after", kTimeChars);
  if (!until_text) return fail(until_text.error());
  const auto until = base::parse_rfc3339(*until_text);
  if (!until) return fail(Code::Malformed, "not_after: " + until.error().message);
  return make_signer(std::move(*name), key, *until);
}

}  // namespace

std::string signer_id(const auth::PublicKey& key) {
  const base::ObjectId hash = b3::hash(key.bytes);
  return base::to_hex(base::ByteView(hash.digest()).first(kSignerIdChars / 2));
}

const Signer* SignerSet::find(std::string_view id) const noexcept {
  const auto found = std::ranges::lower_bound(signers, id, {}, &Signer::id);
  return found != signers.end() && found->id == id ? &*found : nullptr;
}

Signer make_signer(std::string name, const auth::PublicKey& key,
                   std::optional<std::int64_t> not_after_s) {
  return {signer_id(key), std::move(name), key, not_after_s};
}

base::Result<SignerSet> make_signer_set(std::uint64_t threshold, std::vector<Signer> signers) {
  if (signers.size() > kMaxSigners) {
    return fail(Code::Malformed, "at most " + std::to_string(kMaxSigners) + " signers");
  }
  std::ranges::sort(signers, {}, &Signer::id);
  const auto twice = std::ranges::adjacent_find(signers, {}, &Signer::id);
  if (twice != signers.end()) {
    return fail(Code::Malformed, "the key of signer " + twice->id + " is there twice");
  }
  if (threshold < 1 || threshold >= signers.size()) {
    return fail(
        base::Error(Code::Malformed,
                    "threshold must be at least 1 and less than the number of signers, so that "
                    "one lost key does not stop everything")
            .with("threshold", std::to_string(threshold))
            .with("signers", std::to_string(signers.size())));
  }
  return SignerSet{threshold, std::move(signers)};
}

base::Result<SignerSet> parse_signer_set(const base::Value& change) {
  const base::Value* const threshold = change.find("threshold");
  if (threshold == nullptr || !threshold->unsigned_number()) {
    return fail(Code::Malformed, "threshold must be a number");
  }
  const base::Value* const list = change.find("signers");
  if (list == nullptr || list->array() == nullptr) {
    return fail(Code::Malformed, "signers must be a list");
  }
  if (list->array()->size() > kMaxSigners) {
    return fail(Code::Malformed, "at most " + std::to_string(kMaxSigners) + " signers");
  }
  std::vector<Signer> signers;
  for (const base::Value& value : *list->array()) {
    auto signer = parse_signer(value);
    if (!signer) return fail(std::move(signer.error()));
    signers.push_back(std::move(*signer));
  }
  return make_signer_set(*threshold->unsigned_number(), std::move(signers));
}

base::Value to_value(const Signer& signer) {
  base::Value::Map map;
  map.emplace("name", base::Value(signer.name));
  map.emplace("public_key", base::Value(base::to_base64(signer.key.bytes)));
  if (signer.not_after_s) {
    map.emplace("not_after", base::Value(base::print_rfc3339(*signer.not_after_s)));
  }
  return base::Value(std::move(map));
}

}  // namespace ron::chain
