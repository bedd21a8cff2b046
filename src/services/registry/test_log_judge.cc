#include "services/registry/test_log_judge.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "b3/hash.h"
#include "base/encoding.h"
#include "base/rfc3339.h"

namespace ron::registry {
namespace {

using base::Value;

constexpr std::size_t kIdDigits = 16;

std::string kind_of(const Value& change) {
  const Value* const kind = change.find("kind");
  return kind != nullptr && kind->text() != nullptr ? *kind->text() : std::string();
}

std::uint64_t number(const Value& map, std::string_view key) {
  const Value* const value = map.find(key);
  return value == nullptr ? 0 : value->unsigned_number().value_or(0);
}

const Value::Array& list(const Value& map, std::string_view key) {
  static const Value::Array kNone;
  const Value* const value = map.find(key);
  return value != nullptr && value->array() != nullptr ? *value->array() : kNone;
}

std::string text(const Value& map, std::string_view key) {
  const Value* const value = map.find(key);
  return value != nullptr && value->text() != nullptr ? *value->text() : std::string();
}

// The change that is applied: what supersedes has it inside.
const Value& own_change(const Value& change) {
  const Value* const inner = kind_of(change) == "supersede" ? change.find("change") : nullptr;
  return inner != nullptr ? *inner : change;
}

std::map<std::string, LogJudge::Signer> read_signers(const Value& change) {
  std::map<std::string, LogJudge::Signer> signers;
  for (const Value& value : list(change, "signers")) {
    LogJudge::Signer signer;
    const auto raw = base::from_base64(text(value, "public_key")).value_or(Value::Bytes());
    std::copy_n(raw.begin(), std::min(raw.size(), signer.key.bytes.size()),
                signer.key.bytes.begin());
    const std::string until = text(value, "not_after");
    if (!until.empty()) signer.not_after_s = base::parse_rfc3339(until).value_or(0);
    const base::ObjectId id = b3::hash(signer.key.bytes);
    signers.emplace(base::to_hex(id.digest()).substr(0, kIdDigits), signer);
  }
  return signers;
}

bool is_in_time(const LogJudge::Signer& signer, std::int64_t at_ms) {
  return !signer.not_after_s || at_ms / 1000 <= *signer.not_after_s;
}

std::uint64_t count(const LogJudge::Rules& rules, const std::set<std::string>& revoked,
                    const LogJudge::Approvals& approvals, std::int64_t at_ms) {
  std::uint64_t have = 0;
  for (const auto& [id, signature] : approvals) {
    const auto signer = rules.signers.find(id);
    if (signer != rules.signers.end() && is_in_time(signer->second, at_ms) &&
        !revoked.contains(id)) {
      ++have;
    }
  }
  return have;
}

std::string check_rules(const LogJudge::Rules& rules) {
  if (rules.threshold < 1 || rules.threshold >= rules.signers.size()) {
    return "threshold " + std::to_string(rules.threshold) + " with " +
           std::to_string(rules.signers.size()) + " signers";
  }
  for (const auto& [id, signer] : rules.signers) {
    if (rules.revoked.contains(id)) return "signer " + id + " is back after its revocation";
  }
  return {};
}

base::ObjectId id_of(const Value& map, std::string_view key) {
  std::array<std::byte, base::ObjectId::kBytes> digest{};
  const Value* const value = map.find(key);
  if (value != nullptr && value->bytes() != nullptr && value->bytes()->size() == digest.size()) {
    std::ranges::copy(*value->bytes(), digest.begin());
  }
  return base::ObjectId(digest);
}

}  // namespace

std::size_t SignatureCache::Hash::operator()(const base::ObjectId& id) const noexcept {
  std::size_t value = 0;
  std::memcpy(&value, id.digest().data(), sizeof value);
  return value;
}

bool SignatureCache::verify(const auth::PublicKey& key, std::string_view text,
                            const auth::Signature& signature) {
  std::string all(base::as_text(key.bytes));
  all.append(base::as_text(signature)).append(text);
  const base::ObjectId name = b3::hash(base::as_bytes(all));
  if (const auto found = known_.find(name); found != known_.end()) return found->second;
  if (known_.size() >= kMost) known_.clear();
  ++checked_;
  const auto verifier = auth::VerifyingKey::make(key);
  const bool is_good = verifier && verifier->verify(base::as_bytes(text), signature);
  known_.emplace(name, is_good);
  return is_good;
}

std::string text_to_approve(const base::ObjectId& log, std::string_view proposal,
                            const base::ObjectId& payload, std::int64_t expires_ms) {
  std::string text = "ron-registry/approval/v1\n";
  text += "log " + log.text() + "\n";
  text += "proposal " + std::string(proposal) + "\n";
  text += "payload " + payload.text() + "\n";
  text += "expires " + base::print_rfc3339(expires_ms / 1000) + "\n";
  return text;
}

void LogJudge::truncate(std::uint64_t size) {
  while (versions_.size() > size) {
    by_proposal_.erase(versions_.back().proposal);
    versions_.pop_back();
  }
}

std::optional<std::uint64_t> LogJudge::version_of(const std::string& proposal) const {
  const auto found = by_proposal_.find(proposal);
  return found == by_proposal_.end() ? std::nullopt : std::optional(found->second);
}

// What the change builds on: HEAD, or the version before it if HEAD is superseded.
const LogJudge::Version& LogJudge::before(const Value& change, std::uint64_t size) const {
  return versions_[kind_of(change) == "supersede" && size > 1 ? size - 2 : size - 1];
}

LogJudge::Outcome LogJudge::outcome(const Value& change, std::uint64_t size) const {
  const Version& base = before(change, size);
  Outcome out{base.rules, base.descriptors};
  const Value& own = own_change(change);
  const std::string kind = kind_of(own);
  for (const Value& one : kind == "update" ? list(own, "set") : Value::Array()) {
    out.descriptors.insert_or_assign(text(one, "type") + "/" + text(one, "id"), one);
  }
  for (const Value& key : kind == "update" ? list(own, "remove") : Value::Array()) {
    out.descriptors.erase(*key.text());
  }
  if (kind == "signers") {
    out.rules.threshold = number(own, "threshold");
    out.rules.signers = read_signers(own);
  }
  for (const Value& id : kind == "revoke" ? list(own, "signers") : Value::Array()) {
    out.rules.revoked.insert(*id.text());
    out.rules.signers.erase(*id.text());
  }
  return out;
}

bool LogJudge::needs_both(const Value& change, const Rules& now, const Rules& after) const {
  if (kind_of(change) == "revoke") return false;
  return now.threshold != after.threshold || now.signers != after.signers;
}

bool LogJudge::fits(const Value& payload, std::uint64_t size) const {
  const Value& change = *payload.find("change");
  const Value* const if_head = payload.find("if_head");
  if (if_head != nullptr && (number(*if_head, "version") != size - 1 ||
                             text(*if_head, "hash") != versions_[size - 1].hash.text())) {
    return false;
  }
  const std::string kind = kind_of(change);
  if (kind == "genesis") return false;
  if (kind == "supersede" && (size < 2 || number(change, "version") != size - 1)) return false;
  const Rules& base = before(change, size).rules;
  const Value& own = own_change(change);
  for (const Value& id : kind_of(own) == "revoke" ? list(own, "signers") : Value::Array()) {
    if (!base.signers.contains(*id.text())) return false;
  }
  return check_rules(outcome(change, size).rules).empty();
}

LogJudge::Doubt LogJudge::doubt(const Value& payload, std::uint64_t size, const std::string& signer,
                                std::int64_t at_ms) const {
  const Value& change = *payload.find("change");
  const Rules& now = versions_[size - 1].rules;
  if (now.revoked.contains(signer)) return Doubt::Revoked;
  const auto in = [&](const Rules& rules) {
    return is_in_time(rules.signers.at(signer), at_ms) ? Doubt::None : Doubt::KeyExpired;
  };
  if (now.signers.contains(signer)) return in(now);
  const Rules after = outcome(change, size).rules;
  if (needs_both(change, now, after) && after.signers.contains(signer)) return in(after);
  return Doubt::Unknown;
}

bool LogJudge::is_quorum(const Value& payload, std::uint64_t size, const Approvals& approvals,
                         std::int64_t at_ms) const {
  const Value& change = *payload.find("change");
  const Rules& now = versions_[size - 1].rules;
  if (count(now, now.revoked, approvals, at_ms) < now.threshold) return false;
  const Rules after = outcome(change, size).rules;
  return !needs_both(change, now, after) ||
         count(after, now.revoked, approvals, at_ms) >= after.threshold;
}

std::string LogJudge::judge_first(const Value& entry, const Value& payload) const {
  if (kind_of(*payload.find("change")) != "genesis") return "the first version is no genesis";
  if (id_of(entry, "prev") != base::ObjectId()) return "the genesis has a version before it";
  if (!list(entry, "approvals").empty()) return "the genesis has approvals";
  return {};
}

std::string LogJudge::judge_approvals(const Version& version, const Value& entry,
                                      const Value& payload) {
  const std::uint64_t size = versions_.size();
  const Value& change = *payload.find("change");
  if (version.approvals.size() != list(entry, "approvals").size()) {
    return "a signer approves twice";
  }
  const Value* const bytes = entry.find("payload");
  const std::string approved =
      text_to_approve(log(), version.proposal, b3::hash(base::ByteView(*bytes->bytes())),
                      static_cast<std::int64_t>(number(entry, "expires")));
  const Rules& now = versions_.back().rules;
  const Rules after = outcome(change, size).rules;
  for (const auto& [id, signature] : version.approvals) {
    const Doubt why = doubt(payload, size, id, version.at_ms);
    if (why == Doubt::Unknown) return "approved by " + id + ", who is no signer";
    if (why == Doubt::Revoked) return "approved by " + id + ", who was revoked";
    if (why == Doubt::KeyExpired) return "approved by " + id + ", whose key had expired";
    const auto known = now.signers.find(id);
    const auth::PublicKey& key =
        known != now.signers.end() ? known->second.key : after.signers.at(id).key;
    if (!cache_.verify(key, approved, signature)) return "the signature of " + id + " is wrong";
  }
  if (!is_quorum(payload, size, version.approvals, version.at_ms)) {
    return "without quorum: " + std::to_string(version.approvals.size()) + " approvals";
  }
  return {};
}

std::string LogJudge::judge_next(const Version& version, const Value& entry, const Value& payload) {
  const Version& head = versions_.back();
  if (id_of(entry, "prev") != head.hash) return "prev is not the hash of the version before";
  if (version.at_ms < head.at_ms) return "older than the version before";
  const std::uint64_t expires = number(entry, "expires");
  if (static_cast<std::uint64_t>(version.at_ms) >= expires) return "its proposal had expired";
  if (by_proposal_.contains(version.proposal)) return "its proposal was committed before";
  if (!fits(payload, versions_.size())) return "its change may not follow HEAD";
  return judge_approvals(version, entry, payload);
}

std::string LogJudge::take(std::string_view bytes) {
  const std::uint64_t number_of = versions_.size();
  const std::string name = "version " + std::to_string(number_of) + ": ";
  const auto entry = base::decode_cbor(base::as_bytes(bytes));
  if (!entry || entry->map() == nullptr || entry->map()->size() != 7) return name + "no entry";
  const Value* const payload_bytes = entry->find("payload");
  if (payload_bytes == nullptr || payload_bytes->bytes() == nullptr) return name + "no payload";
  const auto payload = base::decode_cbor(base::ByteView(*payload_bytes->bytes()));
  if (!payload || payload->find("change") == nullptr) return name + "the payload is no payload";
  Version version;
  version.bytes = bytes;
  version.hash = b3::hash(base::as_bytes(bytes));
  version.proposal = text(*entry, "proposal");
  version.at_ms = static_cast<std::int64_t>(number(*entry, "at"));
  for (const Value& one : list(*entry, "approvals")) {
    auth::Signature signature{};
    const Value* const sig = one.find("sig");
    if (sig == nullptr || sig->bytes() == nullptr || sig->bytes()->size() != signature.size()) {
      return name + "an approval without a signature";
    }
    std::ranges::copy(*sig->bytes(), signature.begin());
    version.approvals.emplace(text(one, "signer"), signature);
  }
  std::string wrong;
  if (number(*entry, "version") != number_of) wrong = "it says that it is another version";
  if (wrong.empty()) {
    wrong =
        versions_.empty() ? judge_first(*entry, *payload) : judge_next(version, *entry, *payload);
  }
  if (versions_.empty()) {
    version.rules.threshold = number(*payload->find("change"), "threshold");
    version.rules.signers = read_signers(*payload->find("change"));
  } else {
    Outcome after = outcome(*payload->find("change"), number_of);
    version.rules = std::move(after.rules);
    version.descriptors = std::move(after.descriptors);
  }
  if (wrong.empty()) wrong = check_rules(version.rules);
  by_proposal_.emplace(version.proposal, number_of);
  versions_.push_back(std::move(version));
  return wrong.empty() ? wrong : name + wrong;
}

}  // namespace ron::registry
