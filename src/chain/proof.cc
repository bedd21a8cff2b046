#include "chain/proof.h"

#include <algorithm>
#include <utility>

#include "b3/hash.h"
#include "base/encoding.h"
#include "chain/fields.h"
#include "chain/state.h"

namespace ron::chain {
namespace {

using base::Code;
using base::fail;
using base::Result;
using base::Value;

constexpr std::size_t kOriginDigits = 16;
constexpr std::size_t kMaxInclusion = 64;

Result<std::string> read_bytes(const Fields& fields, std::string_view key) {
  const auto text = fields.text(key, kMaxProofBytes);
  if (!text) return fail(text.error());
  const auto bytes = base::from_base64_exact(*text);
  if (!bytes) return fail(Code::Malformed, std::string(key) + " of the proof is not base64");
  return std::string(base::as_text(*bytes));
}

Result<TreeHash> read_hash(const Value& value) {
  const auto bytes =
      value.text() != nullptr ? base::from_base64_exact(*value.text()) : std::nullopt;
  TreeHash hash{};
  if (!bytes || bytes->size() != hash.size()) {
    return fail(Code::Malformed, "inclusion of the proof is not a list of hashes in base64");
  }
  std::ranges::copy(*bytes, hash.begin());
  return hash;
}

Result<std::string> read_note(const Value& proof) {
  const Value* const note = proof.find("checkpoint");
  if (note == nullptr || note->text() == nullptr) {
    return fail(Code::Malformed, "checkpoint of the proof is not a text");
  }
  return *note->text();
}

std::unexpected<base::Error> does_not_hold(Code code, const std::string& why) {
  return fail(code, "the proof does not hold: " + why);
}

// The checkpoint, if the key signed it for this log.
Result<Checkpoint> open_checkpoint(const Proof& proof, std::string_view vkey) {
  if (!vkey.empty() && vkey != proof.vkey) {
    return fail(Code::InvalidSig, "it was made with another key than the one given");
  }
  const auto verifier = NoteVerifier::parse(proof.vkey);
  if (!verifier) return fail(verifier.error());
  const auto text = open_note(proof.checkpoint, std::span(&*verifier, 1));
  if (!text) return fail(text.error());
  return parse_checkpoint(*text);
}

// Those who decided when the version was made: what was said about signers before it. The last of
// those entries is the youngest of the versions before it that a summary knows.
Result<State> state_before(const Summary& summary, const Entry& entry, Signatures signatures) {
  std::vector<std::string> before;
  std::int64_t at_ms = 0;
  for (const std::string& bytes : summary.governance_entries) {
    const auto one = decode_entry(base::as_bytes(bytes));
    if (!one) return fail(one.error());
    if (one->version >= entry.version) continue;
    before.push_back(bytes);
    at_ms = one->at_ms;
  }
  return State::restore({entry.version - 1, entry.prev}, at_ms, before, {}, {}, signatures);
}

}  // namespace

std::string log_origin(const base::ObjectId& log) {
  return "ron-registry/" + base::to_hex(base::ByteView(log.digest()).first(kOriginDigits / 2));
}

std::string print(const Proof& proof) {
  Value::Array inclusion;
  for (const TreeHash& hash : proof.inclusion) inclusion.emplace_back(base::to_base64(hash));
  return base::print_json(Value::Map{{"format", kProofFormat},
                                     {"version", proof.version},
                                     {"entry", base::to_base64(base::as_bytes(proof.entry))},
                                     {"inclusion", std::move(inclusion)},
                                     {"checkpoint", proof.checkpoint},
                                     {"vkey", proof.vkey},
                                     {"summary", base::to_base64(base::as_bytes(proof.summary))}}) +
         "\n";
}

Result<Proof> parse_proof(std::string_view text) {
  if (text.size() > kMaxProofBytes) return fail(Code::Malformed, "the proof is too large");
  const auto value = base::parse_json(text);
  if (!value) return fail(value.error());
  const auto fields =
      Fields::of(*value, "a proof",
                 {"format", "version", "entry", "inclusion", "checkpoint", "vkey", "summary"});
  if (!fields) return fail(fields.error());
  const auto format = fields->text("format", kProofFormat.size());
  if (!format || *format != kProofFormat) {
    return fail(Code::Malformed, "this is not a proof of format " + std::string(kProofFormat));
  }
  Proof proof;
  const auto version = fields->number("version");
  if (!version) return fail(version.error());
  proof.version = *version;
  auto entry = read_bytes(*fields, "entry");
  if (!entry) return fail(std::move(entry.error()));
  proof.entry = std::move(*entry);
  const auto inclusion = fields->array("inclusion", kMaxInclusion);
  if (!inclusion) return fail(inclusion.error());
  for (const Value& item : **inclusion) {
    const auto hash = read_hash(item);
    if (!hash) return fail(hash.error());
    proof.inclusion.push_back(*hash);
  }
  auto note = read_note(*value);
  if (!note) return fail(std::move(note.error()));
  proof.checkpoint = std::move(*note);
  auto vkey = fields->text("vkey", kMaxNoteTextBytes);
  if (!vkey) return fail(std::move(vkey.error()));
  proof.vkey = std::move(*vkey);
  auto summary = read_bytes(*fields, "summary");
  if (!summary) return fail(std::move(summary.error()));
  proof.summary = std::move(*summary);
  return proof;
}

Result<std::vector<Signer>> check_quorum(const Summary& summary, const Entry& entry,
                                         const base::ObjectId& hash, Signatures governance) {
  std::vector<Signer> signers;
  if (entry.version == 0) {
    if (hash == summary.log) return signers;
    return fail(Code::ChainMismatch, "it is another log's genesis");
  }
  const auto state = state_before(summary, entry, governance);
  if (!state) return fail(state.error());
  const auto payload = decode_payload(base::as_bytes(entry.payload));
  if (!payload) return fail(payload.error());
  if (const auto fits = state->check(*payload); !fits) return fail(fits.error());
  const auto in_time = check_times(state->at_ms(), entry);
  if (!in_time) return fail(in_time.error());
  const Tally tally = state->tally(payload->change, entry.approvals, entry.at_ms);
  if (!tally.is_quorum()) return fail(Code::QuorumFailed, "too few signers approved");
  const auto genuine = check_signatures(*state, entry, payload->change);
  if (!genuine) return fail(genuine.error());
  for (const Approval& approval : entry.approvals) {
    signers.push_back(*state->signer_of(payload->change, approval.signer));
  }
  return signers;
}

Result<Proven> verify_proof(const Proof& proof, std::string_view vkey) {
  auto checkpoint = open_checkpoint(proof, vkey);
  if (!checkpoint) return does_not_hold(checkpoint.error().code, checkpoint.error().message);
  const auto summary = decode_summary(base::as_bytes(proof.summary));
  if (!summary) return does_not_hold(summary.error().code, summary.error().message);
  if (b3::hash(base::as_bytes(proof.summary)) != checkpoint->state ||
      summary->head != Head{checkpoint->version, checkpoint->hash} ||
      log_origin(summary->log) != checkpoint->origin) {
    return does_not_hold(Code::HashMismatch, "the summary is not the checkpoint's");
  }
  const base::ByteView bytes = base::as_bytes(proof.entry);
  auto entry = decode_entry(bytes);
  if (!entry) return does_not_hold(entry.error().code, entry.error().message);
  if (entry->version != proof.version) {
    return does_not_hold(Code::ChainMismatch, "the entry is of another version");
  }
  if (!verify_inclusion(proof.version, checkpoint->size(), leaf_hash(bytes), proof.inclusion,
                        checkpoint->root)) {
    return does_not_hold(Code::HashMismatch, "the entry is not in the checkpoint's tree");
  }
  const base::ObjectId hash = hash_of(bytes);
  auto signers = check_quorum(*summary, *entry, hash, Signatures::Verify);
  if (!signers) return does_not_hold(signers.error().code, signers.error().message);
  return Proven{std::move(*entry),
                {proof.version, hash},
                summary->log,
                std::move(*checkpoint),
                std::move(*signers)};
}

}  // namespace ron::chain
