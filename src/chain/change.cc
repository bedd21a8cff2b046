#include "chain/change.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "auth/digest.h"
#include "chain/fields.h"

namespace ron::chain {
namespace {

using base::Code;
using base::fail;
using base::Result;
using base::Value;

enum class Nesting : std::uint8_t { Outermost, Superseding };
Result<Change> parse_change(const Value& value, Nesting nesting);

Result<Change> parse_genesis(const Value& value) {
  const auto fields = Fields::of(value, "a genesis", {"kind", "threshold", "signers"});
  if (!fields) return fail(fields.error());
  auto set = parse_signer_set(value);
  if (!set) return fail(std::move(set.error()));
  return Change{Genesis{std::move(*set)}};
}

Result<Change> parse_rotate(const Value& value) {
  const auto fields = Fields::of(value, "a change of signers", {"kind", "threshold", "signers"});
  if (!fields) return fail(fields.error());
  auto set = parse_signer_set(value);
  if (!set) return fail(std::move(set.error()));
  return Change{Rotate{std::move(*set)}};
}

Result<void> parse_set(const Fields& fields, Update& update,
                       std::set<std::string, std::less<>>& seen) {
  if (!fields.has("set")) return {};
  const auto list = fields.array("set", kMaxChangeItems);
  if (!list) return fail(list.error());
  for (const Value& item : **list) {
    auto descriptor = parse_descriptor(item);
    if (!descriptor) return fail(std::move(descriptor.error()));
    if (!seen.insert(descriptor->key()).second) {
      return fail(Code::Malformed, "the update names " + descriptor->key() + " twice");
    }
    update.set.push_back(std::make_shared<const Descriptor>(std::move(*descriptor)));
  }
  return {};
}

Result<void> parse_remove(const Fields& fields, Update& update,
                          std::set<std::string, std::less<>>& seen) {
  if (!fields.has("remove")) return {};
  const auto list = fields.array("remove", kMaxChangeItems);
  if (!list) return fail(list.error());
  for (const Value& item : **list) {
    auto key = parse_descriptor_key(item.text() != nullptr ? *item.text() : "");
    if (!key) return fail(std::move(key.error()));
    if (!seen.insert(*key).second) {
      return fail(Code::Malformed, "the update names " + *key + " twice");
    }
    update.remove.push_back(std::move(*key));
  }
  return {};
}

// Empty, it only makes sense in place of what is undone.
Result<Change> parse_update(const Value& value, Nesting nesting) {
  const auto fields = Fields::of(value, "an update", {"kind", "set", "remove"});
  if (!fields) return fail(fields.error());
  Update update;
  std::set<std::string, std::less<>> seen;
  if (auto good = parse_set(*fields, update, seen); !good) return fail(std::move(good.error()));
  if (auto good = parse_remove(*fields, update, seen); !good) return fail(std::move(good.error()));
  if (nesting == Nesting::Outermost && update.set.empty() && update.remove.empty()) {
    return fail(Code::Malformed, "the update sets nothing and removes nothing");
  }
  return Change{std::move(update)};
}

Result<Change> parse_revoke(const Value& value) {
  const auto fields = Fields::of(value, "a revocation", {"kind", "signers", "reason"});
  if (!fields) return fail(fields.error());
  auto reason = fields->text("reason", kReasonChars);
  if (!reason) return fail(std::move(reason.error()));
  const auto list = fields->array("signers", kMaxSigners);
  if (!list) return fail(list.error());
  Revoke revoke{{}, std::move(*reason)};
  for (const Value& item : **list) {
    if (item.text() == nullptr || !auth::is_lower_hex(*item.text(), kSignerIdChars)) {
      return fail(Code::Malformed, "signers of a revocation must be ids of 16 hex digits");
    }
    if (std::ranges::find(revoke.signers, *item.text()) != revoke.signers.end()) {
      return fail(Code::Malformed, "the revocation names " + *item.text() + " twice");
    }
    revoke.signers.push_back(*item.text());
  }
  if (revoke.signers.empty()) return fail(Code::Malformed, "the revocation names nobody");
  return Change{std::move(revoke)};
}

Result<Change> parse_supersede(const Value& value) {
  const auto fields = Fields::of(value, "a supersede", {"kind", "version", "reason", "change"});
  if (!fields) return fail(fields.error());
  const auto version = fields->number("version");
  if (!version) return fail(version.error());
  auto reason = fields->text("reason", kReasonChars);
  if (!reason) return fail(std::move(reason.error()));
  const auto inner = fields->any("change");
  if (!inner) return fail(inner.error());
  auto change = parse_change(**inner, Nesting::Superseding);
  if (!change) return fail(std::move(change.error()));
  return Change{
      Supersede{*version, std::move(*reason), std::make_shared<const Change>(std::move(*change))}};
}

Result<Change> parse_change(const Value& value, Nesting nesting) {
  const Value* const kind = value.find("kind");
  const std::string name =
      kind != nullptr && kind->text() != nullptr ? *kind->text() : std::string();
  if (name == "update") return parse_update(value, nesting);
  if (name == "signers") return parse_rotate(value);
  if (name == "revoke") return parse_revoke(value);
  if (nesting == Nesting::Outermost && name == "supersede") return parse_supersede(value);
  if (nesting == Nesting::Outermost && name == "genesis") return parse_genesis(value);
  return fail(Code::Malformed, nesting == Nesting::Outermost
                                   ? "change.kind must be update, signers, revoke or supersede"
                                   : "what supersedes must be an update, signers or a revoke");
}

}  // namespace

std::string_view Change::kind() const noexcept {
  constexpr std::array<std::string_view, 5> kNames = {"genesis", "update", "signers", "revoke",
                                                      "supersede"};
  static_assert(kNames.size() == std::variant_size_v<decltype(what)>);
  return kNames[what.index()];
}

Value to_value(const Head& head) {
  Value::Map map;
  map.emplace("version", Value(head.version));
  map.emplace("hash", Value(head.hash.text()));
  return Value(std::move(map));
}

Result<Head> parse_head(const Value& value) {
  const auto fields = Fields::of(value, "if_head", {"version", "hash"});
  if (!fields) return fail(fields.error());
  const auto version = fields->number("version");
  if (!version) return fail(version.error());
  const auto text = fields->text("hash", base::ObjectId::kTextLength);
  if (!text) return fail(text.error());
  const auto hash = base::ObjectId::parse(*text);
  if (!hash) return fail(Code::Malformed, "hash of if_head must be b3: and 64 hex digits");
  return Head{*version, *hash};
}

Result<Payload> parse_payload(const Value& value) {
  const auto fields = Fields::of(value, "a proposal", {"change", "reason", "if_head"});
  if (!fields) return fail(fields.error());
  const auto change_value = fields->any("change");
  if (!change_value) return fail(change_value.error());
  auto change = parse_change(**change_value, Nesting::Outermost);
  if (!change) return fail(std::move(change.error()));
  Payload payload{std::move(*change), {}, {}};
  if (fields->has("reason")) {
    auto reason = fields->text("reason", kReasonChars);
    if (!reason) return fail(std::move(reason.error()));
    payload.reason = std::move(*reason);
  }
  if (fields->has("if_head")) {
    const auto head = parse_head(*value.find("if_head"));
    if (!head) return fail(head.error());
    payload.if_head = *head;
  }
  return payload;
}

Result<Payload> decode_payload(base::ByteView bytes) {
  if (bytes.size() > kMaxPayloadBytes) return fail(Code::Malformed, "the payload is too large");
  const auto value = base::decode_cbor(bytes);
  if (!value) return fail(value.error());
  return parse_payload(*value);
}

Value genesis_value(const SignerSet& set) {
  Value::Array signers;
  for (const Signer& signer : set.signers) signers.push_back(to_value(signer));
  Value::Map change;
  change.emplace("kind", Value("genesis"));
  change.emplace("threshold", Value(set.threshold));
  change.emplace("signers", Value(std::move(signers)));
  Value::Map payload;
  payload.emplace("change", Value(std::move(change)));
  return Value(std::move(payload));
}

}  // namespace ron::chain
