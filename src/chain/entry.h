// Entry: one version of the registry, as it is written, hashed and proven. Its format is
// docs/registry-format.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "auth/ed25519.h"
#include "base/bytes.h"
#include "base/object_id.h"
#include "base/result.h"
#include "base/ulid.h"
#include "base/value.h"
#include "chain/change.h"

namespace ron::chain {

struct Approval {
  std::string signer;  // its id
  auth::Signature signature{};
  friend bool operator==(const Approval&, const Approval&) = default;
};

struct Entry {
  std::uint64_t version = 0;
  base::ObjectId prev;  // hash of the version before; zeros at version 0
  base::Ulid proposal;
  std::string payload;              // deterministic CBOR
  std::vector<Approval> approvals;  // by signer
  std::int64_t at_ms = 0;
  std::int64_t expires_ms = 0;  // of the proposal, as its signers saw it; 0 at version 0

  friend bool operator==(const Entry&, const Entry&) = default;
};

// Room for the largest payload and everybody's approval.
inline constexpr std::size_t kMaxEntryBytes = kMaxPayloadBytes + 16 * base::kKiB;
static_assert(kMaxSigners * 128 < 16 * base::kKiB);

std::string encode(const Entry& entry);
// Malformed unless the bytes are exactly what encode() makes of what they say.
base::Result<Entry> decode_entry(base::ByteView bytes);
base::ObjectId hash_of(base::ByteView entry) noexcept;

// For people: `{"version","prev","proposal","payload":{…},"approvals","at","expires"}`.
base::Value describe(const Entry& entry);

// The text whose Ed25519 signature is an approval.
std::string approval_text(const base::ObjectId& log, std::string_view proposal,
                          const base::ObjectId& payload, std::int64_t expires_ms);

}  // namespace ron::chain
