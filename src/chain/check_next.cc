// The rules a next version has to keep, asked by whoever reads a log.
#include <algorithm>
#include <utility>

#include "b3/hash.h"
#include "chain/state.h"

namespace ron::chain {
namespace {

using base::Code;
using base::fail;
using base::Result;

Result<void> check_place(const State& state, const Entry& entry) {
  const std::uint64_t expected = state.is_empty() ? 0 : state.head().version + 1;
  if (entry.version != expected) {
    return fail(Code::ChainMismatch, "it says that it is version " + std::to_string(entry.version) +
                                         " where version " + std::to_string(expected) + " must be");
  }
  const base::ObjectId prev = state.is_empty() ? base::ObjectId() : state.head().hash;
  if (entry.prev != prev)
    return fail(Code::ChainMismatch, "prev is not the hash of the version before");
  return {};
}

}  // namespace

Result<void> check_times(std::int64_t before_ms, const Entry& entry) {
  if (entry.at_ms < before_ms) {
    return fail(Code::ChainMismatch, "it is older than the version before");
  }
  const bool in_time = entry.version == 0
                           ? entry.expires_ms == 0 && entry.approvals.empty()
                           : entry.at_ms < entry.expires_ms && entry.expires_ms % 1000 == 0;
  if (!in_time) return fail(Code::ChainMismatch, "its proposal had expired");
  return {};
}

Result<void> check_signatures(const State& state, const Entry& entry, const Change& change) {
  const std::string text = approval_text(state.log(), entry.proposal.text(),
                                         b3::hash(base::as_bytes(entry.payload)), entry.expires_ms);
  for (const Approval& approval : entry.approvals) {
    auto refusal = state.refusal_of(change, approval.signer, entry.at_ms);
    if (refusal) return fail(std::move(*refusal));
    const auto signer = state.signer_of(change, approval.signer);
    const auto key = auth::VerifyingKey::make(signer->key);
    if (key && key->verify(base::as_bytes(text), approval.signature)) continue;
    return fail(Code::InvalidSig,
                "the signature of signer " + approval.signer + " does not verify");
  }
  return {};
}

Result<CheckedEntry> check_next(const State& state, base::ByteView bytes, Signatures signatures) {
  auto entry = decode_entry(bytes);
  if (!entry) return fail(std::move(entry.error()));
  if (auto good = check_place(state, *entry); !good) return fail(std::move(good.error()));
  if (auto good = check_times(state.at_ms(), *entry); !good) return fail(std::move(good.error()));
  auto payload = decode_payload(base::as_bytes(entry->payload));
  if (!payload) return fail(std::move(payload.error()));
  if (auto good = state.check(*payload); !good) return fail(std::move(good.error()));
  const base::ObjectId hash = hash_of(bytes);
  if (state.is_empty()) return CheckedEntry{std::move(*entry), std::move(*payload), hash};
  const Tally tally = state.tally(payload->change, entry->approvals, entry->at_ms);
  if (!tally.is_quorum()) {
    return fail(Code::QuorumFailed, "it has " + std::to_string(tally.have) +
                                        " approvals and needs " + std::to_string(tally.need));
  }
  if (signatures == Signatures::Verify) {
    auto good = check_signatures(state, *entry, payload->change);
    if (!good) return fail(std::move(good.error()));
  }
  return CheckedEntry{std::move(*entry), std::move(*payload), hash};
}

Result<Entry> take_next(State& state, base::ByteView bytes, Signatures signatures) {
  auto checked = check_next(state, bytes, signatures);
  if (!checked) return fail(std::move(checked.error()));
  state.apply(checked->entry, checked->payload, bytes, checked->hash);
  return std::move(checked->entry);
}

}  // namespace ron::chain
