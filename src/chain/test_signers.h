// Signers and entries for tests: real keys, real signatures.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "auth/ed25519.h"
#include "b3/hash.h"
#include "base/ulid.h"
#include "chain/entry.h"
#include "chain/state.h"

namespace ron::chain::testing {

// The same number is always the same key.
inline auth::SigningKey key_of(std::uint8_t number) {
  std::array<std::byte, auth::SigningKey::kSeedBytes> seed{};
  seed.fill(static_cast<std::byte>(number));
  return std::move(*auth::SigningKey::from_seed(seed));
}

inline Signer signer_of(std::uint8_t number, std::optional<std::int64_t> until = std::nullopt) {
  return make_signer("signer-" + std::to_string(number), key_of(number).public_key(), until);
}

inline SignerSet set_of(std::uint64_t threshold, const std::vector<std::uint8_t>& numbers) {
  std::vector<Signer> signers;
  for (const std::uint8_t number : numbers) signers.push_back(signer_of(number));
  return make_signer_set(threshold, std::move(signers)).value();
}

inline base::Value signers_value(std::string_view kind, const SignerSet& set) {
  base::Value::Array signers;
  for (const Signer& signer : set.signers) signers.push_back(to_value(signer));
  return base::Value::Map{
      {"kind", kind}, {"threshold", set.threshold}, {"signers", std::move(signers)}};
}

inline base::Value node_value(std::string_view id, std::string_view region = "eu") {
  return base::Value::Map{{"type", "node"}, {"id", id}, {"region", region}};
}

inline base::Value update_value(base::Value::Array set, base::Value::Array remove = {}) {
  return base::Value::Map{
      {"kind", "update"}, {"set", std::move(set)}, {"remove", std::move(remove)}};
}

inline base::Value payload_value(base::Value change) {
  return base::Value::Map{{"change", std::move(change)}};
}

inline constexpr std::int64_t kStartMs = 1'700'000'000'000;

// Makes the entries of a log, one behind the other, and keeps its state.
class TestLog {
 public:
  explicit TestLog(const SignerSet& set) {
    Entry entry;
    entry.proposal = ulid(0);
    entry.payload = base::encode_cbor(genesis_value(set));
    entry.at_ms = kStartMs;
    take(encode(entry));
  }

  [[nodiscard]] State& state() noexcept { return state_; }
  [[nodiscard]] const std::vector<std::string>& entries() const noexcept { return entries_; }

  // The next version with these signers' approvals; nothing is checked.
  [[nodiscard]] std::string next(const base::Value& change,
                                 const std::vector<std::uint8_t>& signers) const {
    Entry entry = draft(change);
    approve(entry, signers);
    return encode(entry);
  }
  [[nodiscard]] Entry draft(const base::Value& change) const {
    Entry entry;
    entry.version = state_.head().version + 1;
    entry.prev = state_.head().hash;
    entry.proposal = ulid(entry.version);
    entry.payload = base::encode_cbor(payload_value(change));
    entry.at_ms = kStartMs + static_cast<std::int64_t>(entry.version);
    entry.expires_ms = kStartMs + 86'400'000;
    return entry;
  }
  void approve(Entry& entry, const std::vector<std::uint8_t>& signers) const {
    const std::string text =
        approval_text(state_.log(), entry.proposal.text(), b3::hash(base::as_bytes(entry.payload)),
                      entry.expires_ms);
    for (const std::uint8_t number : signers) {
      const auth::SigningKey key = key_of(number);
      entry.approvals.push_back({signer_id(key.public_key()), *key.sign(base::as_bytes(text))});
    }
    std::ranges::sort(entry.approvals, {}, &Approval::signer);
  }

  base::Result<Entry> take(std::string bytes, Signatures signatures = Signatures::Verify) {
    auto taken = take_next(state_, base::as_bytes(bytes), signatures);
    if (taken) entries_.push_back(std::move(bytes));
    return taken;
  }
  // As a registry takes it that does not keep the rules.
  void force(const Entry& entry) {
    const std::string bytes = encode(entry);
    const base::ByteView view = base::as_bytes(bytes);
    state_.apply(entry, *decode_payload(base::as_bytes(entry.payload)), view, hash_of(view));
    entries_.push_back(bytes);
  }
  base::Result<Entry> add(const base::Value& change, const std::vector<std::uint8_t>& signers) {
    return take(next(change, signers));
  }

 private:
  static base::Ulid ulid(std::uint64_t number) {
    return {static_cast<std::uint64_t>(kStartMs), 1, number};
  }

  State state_;
  std::vector<std::string> entries_;
};

}  // namespace ron::chain::testing
