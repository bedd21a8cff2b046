#include "chain/state.h"

#include <algorithm>
#include <cassert>
#include <map>
#include <memory>
#include <utility>

#include "b3/hash.h"
#include "chain/fields.h"

namespace ron::chain {
namespace {

using base::Code;
using base::fail;
using base::Result;

Result<void> check_rotate(const Rotate& rotate, const Governance& current) {
  for (const Signer& signer : rotate.set.signers) {
    if (!current.revoked.contains(signer.id)) continue;
    return fail(Code::RevokedKey,
                "signer " + signer.id + " was revoked and may not come back; make a new key");
  }
  return {};
}

Result<void> check_revoke(const Revoke& revoke, const Governance& current) {
  for (const std::string& id : revoke.signers) {
    if (current.set.find(id) != nullptr) continue;
    return fail(Code::VersionSkew, "there is no signer " + id + " to revoke");
  }
  const std::size_t left = current.set.signers.size() - revoke.signers.size();
  if (left > current.set.threshold) return {};
  return fail(base::Error(Code::NotAllowed,
                          "too few signers would be left for the threshold; change the signers "
                          "first")
                  .with("left", std::to_string(left))
                  .with("threshold", std::to_string(current.set.threshold)));
}

std::uint64_t count(const Governance& governance, const Governance& revoking,
                    std::span<const Approval> approvals, std::int64_t at_ms) {
  return static_cast<std::uint64_t>(std::ranges::count_if(approvals, [&](const Approval& one) {
    const Signer* const signer = governance.set.find(one.signer);
    return signer != nullptr && signer->may_sign_at(at_ms) &&
           !revoking.revoked.contains(one.signer);
  }));
}

// A revocation needs those who decide now; whatever else makes it others needs both.
bool needs_both(const Change& change, const Governance& now, const Governance& after) {
  return change.as<Revoke>() == nullptr && now.set != after.set;
}

}  // namespace

std::vector<std::string> State::governance_entries() const {
  std::vector<std::string> entries;
  entries.reserve(governance_entries_->size());
  for (const auto& entry : *governance_entries_) entries.push_back(*entry);
  return entries;
}

Result<void> State::check_change(const Change& change, const Governance& current) const {
  if (const auto* rotate = change.as<Rotate>()) return check_rotate(*rotate, current);
  if (const auto* revoke = change.as<Revoke>()) return check_revoke(*revoke, current);
  if (const auto* update = change.as<Update>()) {
    if (descriptors_.size() + update->set.size() <= kMaxDescriptors) return {};
    return fail(Code::Quota,
                "at most " + std::to_string(kMaxDescriptors) + " descriptors are kept");
  }
  return {};
}

Result<void> State::check(const Payload& payload) const {
  const bool is_genesis = payload.change.as<Genesis>() != nullptr;
  if (is_genesis != is_empty()) {
    return fail(Code::NotAllowed, is_genesis ? "the log has its genesis already"
                                             : "the first version must be a genesis");
  }
  if (is_genesis) return {};
  if (payload.if_head && *payload.if_head != *head_) {
    return fail(base::Error(Code::ChainMismatch, "if_head is not HEAD")
                    .with("version", std::to_string(head_->version))
                    .with("hash", head_->hash.text()));
  }
  const auto* supersede = payload.change.as<Supersede>();
  if (supersede == nullptr) return check_change(payload.change, *governance_);
  if (supersede->version != head_->version) {
    return fail(base::Error(Code::ChainMismatch, "only HEAD can be superseded")
                    .with("version", std::to_string(head_->version))
                    .with("hash", head_->hash.text()));
  }
  if (head_->version == 0) return fail(Code::NotAllowed, "the genesis cannot be superseded");
  return check_change(*supersede->change, governance_before());
}

Governance State::governance_from(const Change& change, Governance current) const {
  if (const auto* genesis = change.as<Genesis>()) current.set = genesis->set;
  if (const auto* rotate = change.as<Rotate>()) current.set = rotate->set;
  if (const auto* revoke = change.as<Revoke>()) {
    for (const std::string& id : revoke->signers) current.revoked.insert(id);
    std::erase_if(current.set.signers,
                  [&](const Signer& signer) { return current.revoked.contains(signer.id); });
  }
  return current;
}

Governance State::governance_after(const Change& change) const {
  if (const auto* supersede = change.as<Supersede>()) {
    return governance_from(*supersede->change, governance_before());
  }
  return governance_from(change, *governance_);
}

Tally State::tally(const Change& change, std::span<const Approval> approvals,
                   std::int64_t at_ms) const {
  const Governance& now = *governance_;
  Tally tally{count(now, now, approvals, at_ms), now.set.threshold};
  if (change.as<Update>() != nullptr) return tally;
  const Governance after = governance_after(change);
  if (!needs_both(change, now, after)) return tally;
  tally.have_new = count(after, now, approvals, at_ms);
  tally.need_new = after.set.threshold;
  return tally;
}

std::optional<Signer> State::signer_of(const Change& change, std::string_view id) const {
  if (const Signer* const signer = governance_->set.find(id)) return *signer;
  if (change.as<Update>() != nullptr) return std::nullopt;
  const Governance after = governance_after(change);
  const Signer* const signer = after.set.find(id);
  if (signer == nullptr || !needs_both(change, *governance_, after)) return std::nullopt;
  return *signer;
}

std::optional<base::Error> State::refusal_of(const Change& change, std::string_view id,
                                             std::int64_t at_ms) const {
  if (governance_->revoked.contains(id)) {
    return base::Error(Code::RevokedKey, "signer " + std::string(id) + " was revoked");
  }
  const std::optional<Signer> signer = signer_of(change, id);
  if (!signer) {
    return base::Error(Code::NotAllowed, "'" + std::string(id) + "' is not one of the signers");
  }
  if (signer->may_sign_at(at_ms)) return std::nullopt;
  return base::Error(Code::RevokedKey, "the key of signer " + std::string(id) + " has expired");
}

template <class Put>
void State::for_each_put(const Change& change, const Put& put) const {
  const auto* supersede = change.as<Supersede>();
  if (supersede != nullptr) {
    for (const auto& [key, value] : undo_->descriptors) put(key, value);
  }
  const auto* update = (supersede != nullptr ? *supersede->change : change).as<Update>();
  if (update == nullptr) return;
  for (const DescriptorPtr& descriptor : update->set) put(descriptor->key(), descriptor);
  for (const std::string& key : update->remove) put(key, nullptr);
}

Result<void> State::check_room(const Payload& payload, const StateBounds& bounds) const {
  const Change& change = payload.change;
  if (change.as<Update>() == nullptr && change.as<Revoke>() == nullptr &&
      governance_bytes_ >= bounds.governance_bytes && governance_after(change) != *governance_) {
    return fail(Code::Quota, "the changes of signers take up the room there is for them");
  }
  std::map<std::string, DescriptorPtr, std::less<>> touched;
  std::size_t replaced = 0;
  for_each_put(change, [&](const std::string& key, DescriptorPtr value) {
    touched.insert_or_assign(key, std::move(value));
    ++replaced;
  });
  if (change.as<Supersede>() != nullptr && replaced > bounds.replaced) {
    return fail(Code::Quota,
                "too many versions in a row undo the one before; make an update instead");
  }
  std::size_t count = descriptors_.size();
  std::size_t bytes = descriptors_bytes_;
  for (const auto& [key, value] : touched) {
    const auto known = descriptors_.find(key);
    if (known != descriptors_.end()) {
      --count;
      bytes -= known->second->bytes;
    }
    if (value) {
      ++count;
      bytes += value->bytes;
    }
  }
  if (count > bounds.descriptors && count > descriptors_.size()) {
    return fail(Code::Quota,
                "at most " + std::to_string(bounds.descriptors) + " descriptors are kept");
  }
  if (bytes > bounds.descriptors_bytes && bytes > descriptors_bytes_) {
    return fail(Code::Quota, "all descriptors together may have " +
                                 std::to_string(bounds.descriptors_bytes) + " bytes");
  }
  return {};
}

void State::apply(const Entry& entry, const Payload& payload, base::ByteView bytes,
                  const base::ObjectId& hash) {
  Undo undo;
  // An update, the usual change, leaves the signers alone: nothing of them is copied for it.
  if (payload.change.as<Update>() == nullptr) {
    Governance after = governance_after(payload.change);
    if (after != *governance_) {
      undo.governance =
          std::exchange(governance_, std::make_shared<const Governance>(std::move(after)));
      auto entries = std::make_shared<Entries>(*governance_entries_);
      entries->push_back(std::make_shared<const std::string>(base::as_text(bytes)));
      governance_entries_ = std::move(entries);
      governance_bytes_ += bytes.size();
    }
  }
  {
    DescriptorMap::Edit edit(descriptors_);
    for_each_put(payload.change, [&](const std::string& key, DescriptorPtr value) {
      DescriptorPtr was = edit.get(key);
      descriptors_bytes_ += value ? value->bytes : 0;
      descriptors_bytes_ -= was ? was->bytes : 0;
      undo.descriptors.emplace_back(key, std::move(was));
      if (value) {
        edit.set(key, std::move(value));
      } else {
        edit.erase(key);
      }
    });
  }
  std::ranges::reverse(undo.descriptors);
  undo_ = std::make_shared<const Undo>(std::move(undo));
  if (entry.version == 0) log_ = hash;
  head_ = Head{entry.version, hash};
  at_ms_ = entry.at_ms;
}

// What lies between two entries about signers was not: it left nothing of theirs to undo.
Result<void> State::restore_governance(std::string_view bytes, Signatures signatures) {
  const base::ByteView view = base::as_bytes(bytes);
  const auto entry = decode_entry(view);
  if (!entry) return fail(entry.error());
  auto payload = decode_payload(base::as_bytes(entry->payload));
  if (!payload) return fail(std::move(payload.error()));
  if (is_empty() != (entry->version == 0) || (!is_empty() && entry->version <= head_->version)) {
    return fail(Code::Malformed, "the entries about signers are not in order");
  }
  if (auto good = check_times(at_ms_, *entry); !good) return good;
  if (!is_empty()) {
    if (entry->version != head_->version + 1) undo_ = std::make_shared<const Undo>();
    head_ = Head{entry->version - 1, entry->prev};
  }
  payload->if_head.reset();
  if (auto good = check(*payload); !good) return good;
  if (entry->version > 0) {
    if (!tally(payload->change, entry->approvals, entry->at_ms).is_quorum()) {
      return fail(Code::QuorumFailed, "an entry about signers has too few approvals");
    }
    if (signatures == Signatures::Verify) {
      if (auto good = check_signatures(*this, *entry, payload->change); !good) return good;
    }
  }
  apply(*entry, *payload, view, hash_of(view));
  return {};
}

Result<State> State::restore(Head head, std::int64_t at_ms,
                             std::span<const std::string> governance_entries,
                             Descriptors descriptors, Replaced replaced, Signatures signatures) {
  State state;
  for (const std::string& bytes : governance_entries) {
    auto good = state.restore_governance(bytes, signatures);
    if (!good) return fail(std::move(good.error()));
  }
  if (state.is_empty()) return fail(Code::Malformed, "there is no genesis");
  if (state.head().version > head.version ||
      (state.head().version == head.version && state.head() != head)) {
    return fail(Code::ChainMismatch, "the entries about signers do not lead to HEAD");
  }
  Undo undo;
  if (state.head().version == head.version) undo.governance = state.undo_->governance;
  undo.descriptors = std::move(replaced);
  state.undo_ = std::make_shared<const Undo>(std::move(undo));
  state.head_ = head;
  state.at_ms_ = at_ms;
  state.descriptors_ = std::move(descriptors);
  for (const auto& [key, descriptor] : state.descriptors_) {
    state.descriptors_bytes_ += descriptor->bytes;
  }
  return state;
}

}  // namespace ron::chain
