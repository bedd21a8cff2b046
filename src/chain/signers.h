// Signers: who may approve a change, and how many of them it takes.
//
// Plain values without I/O. A signer's id is made from its key, so that a name is only a name: the
// first 16 hex digits of the BLAKE3 of the public key.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "auth/ed25519.h"
#include "base/result.h"
#include "base/value.h"

namespace ron::chain {

inline constexpr std::size_t kSignerIdChars = 16;
inline constexpr std::size_t kMaxSigners = 64;
inline constexpr std::size_t kSignerNameChars = 64;

std::string signer_id(const auth::PublicKey& key);

struct Signer {
  std::string id;
  std::string name;
  auth::PublicKey key;
  std::optional<std::int64_t> not_after_s{};  // Unix seconds; the last one at which it may approve

  [[nodiscard]] bool may_sign_at(std::int64_t unix_ms) const noexcept {
    return !not_after_s || unix_ms / 1000 <= *not_after_s;
  }
  friend bool operator==(const Signer&, const Signer&) = default;
};

// Who may approve. 1 <= threshold < number of signers, always: one lost key never stops everything.
struct SignerSet {
  std::uint64_t threshold = 0;
  std::vector<Signer> signers;  // by id

  [[nodiscard]] const Signer* find(std::string_view id) const noexcept;
  friend bool operator==(const SignerSet&, const SignerSet&) = default;
};

// The signers and those who were, as of one version.
struct Governance {
  SignerSet set;
  std::set<std::string, std::less<>> revoked;  // ids that never count again

  friend bool operator==(const Governance&, const Governance&) = default;
};

// A set that obeys the rule above; its signers are sorted. Malformed says what is wrong.
base::Result<SignerSet> make_signer_set(std::uint64_t threshold, std::vector<Signer> signers);
Signer make_signer(std::string name, const auth::PublicKey& key,
                   std::optional<std::int64_t> not_after_s = std::nullopt);

// The fields `threshold` and `signers` as they stand in a change.
base::Result<SignerSet> parse_signer_set(const base::Value& change);
base::Value to_value(const Signer& signer);

}  // namespace ron::chain
