// For tests and simulations: a second opinion on a log, written from the contract alone.
//
// It shares nothing with what it judges but hashes, CBOR, time and Ed25519: what a change means,
// who counts and what may follow are said here once more. It keeps the state of every version, so
// that what a supersede has to lead to is looked up and not computed backwards. One thread.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "auth/ed25519.h"
#include "base/object_id.h"
#include "base/value.h"

namespace ron::registry {

// Remembers what verified and what did not: a check takes 110 us, and the same signature is looked
// at by whoever takes it and by whoever judges. Bounded.
class SignatureCache {
 public:
  bool verify(const auth::PublicKey& key, std::string_view text, const auth::Signature& signature);
  [[nodiscard]] std::uint64_t checked() const noexcept { return checked_; }

 private:
  static constexpr std::size_t kMost = 500'000;
  struct Hash {
    std::size_t operator()(const base::ObjectId& id) const noexcept;
  };
  std::unordered_map<base::ObjectId, bool, Hash> known_;
  std::uint64_t checked_ = 0;
};

// The text of the contract.
std::string text_to_approve(const base::ObjectId& log, std::string_view proposal,
                            const base::ObjectId& payload, std::int64_t expires_ms);

class LogJudge {
 public:
  struct Signer {
    auth::PublicKey key;
    std::optional<std::int64_t> not_after_s;
    friend bool operator==(const Signer&, const Signer&) = default;
  };
  // Who decides, as of a version.
  struct Rules {
    std::uint64_t threshold = 0;
    std::map<std::string, Signer> signers;  // by id
    std::set<std::string> revoked;
  };
  using Approvals = std::map<std::string, auth::Signature>;  // by signer
  struct Version {
    std::string bytes;
    base::ObjectId hash;
    std::string proposal;
    std::int64_t at_ms = 0;
    Approvals approvals;
    Rules rules;                                     // as it leaves them
    std::map<std::string, base::Value> descriptors;  // likewise, by type/id
  };
  // Why an approval cannot count.
  enum class Doubt : std::uint8_t { None, Unknown, Revoked, KeyExpired };

  explicit LogJudge(SignatureCache& cache) : cache_(cache) {}

  // The next version. Empty if it may be that, else what is wrong; it is taken in any case as long
  // as it can be read.
  std::string take(std::string_view bytes);
  // As if nothing from version `size` on had been.
  void truncate(std::uint64_t size);

  [[nodiscard]] std::uint64_t size() const noexcept { return versions_.size(); }
  [[nodiscard]] const Version& at(std::uint64_t version) const { return versions_[version]; }
  [[nodiscard]] const base::ObjectId& log() const { return versions_.front().hash; }
  // The version that has this proposal.
  [[nodiscard]] std::optional<std::uint64_t> version_of(const std::string& proposal) const;

  // Of a payload that would follow the first `size` versions: whether it may, approvals aside; what
  // is wrong with an approval by this signer; and whether those that are there are enough.
  [[nodiscard]] bool fits(const base::Value& payload, std::uint64_t size) const;
  [[nodiscard]] Doubt doubt(const base::Value& payload, std::uint64_t size,
                            const std::string& signer, std::int64_t at_ms) const;
  [[nodiscard]] bool is_quorum(const base::Value& payload, std::uint64_t size,
                               const Approvals& approvals, std::int64_t at_ms) const;

 private:
  struct Outcome {
    Rules rules;
    std::map<std::string, base::Value> descriptors;
  };
  // What the payload, which fits, leads to.
  [[nodiscard]] Outcome outcome(const base::Value& change, std::uint64_t size) const;
  [[nodiscard]] const Version& before(const base::Value& change, std::uint64_t size) const;
  [[nodiscard]] bool needs_both(const base::Value& change, const Rules& now,
                                const Rules& after) const;
  std::string judge_first(const base::Value& entry, const base::Value& payload) const;
  std::string judge_next(const Version& version, const base::Value& entry,
                         const base::Value& payload);
  std::string judge_approvals(const Version& version, const base::Value& entry,
                              const base::Value& payload);

  SignatureCache& cache_;
  std::vector<Version> versions_;
  std::map<std::string, std::uint64_t> by_proposal_;
};

}  // namespace ron::registry
