// Provider records: a node says, signed, where an object can be had from it, and until when.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "auth/ed25519.h"
#include "base/bytes.h"
#include "base/object_id.h"
#include "base/result.h"

namespace ron::catalog {

inline constexpr std::size_t kMaxProviderUrlBytes = 512;
inline constexpr std::size_t kMaxRegionBytes = 64;
inline constexpr std::size_t kMaxProviderRecordBytes = 1024;

// Says nothing about who `node` is: a valid signature proves that the holder of that key said so,
// and whether that holder counts is up to the reader.
struct ProviderRecord {
  base::ObjectId addr;
  std::string url;  // http:// or https:// and a host, printable ASCII, without credentials
  auth::PublicKey node;
  std::string region;     // [a-z0-9-]*
  std::uint64_t seq = 0;  // the higher one of two records of a node for an address is the newer
  std::uint64_t expires_ms = 0;  // since 1970
  auth::Signature sig{};

  friend bool operator==(const ProviderRecord&, const ProviderRecord&) = default;
};

// Malformed unless a record may say so of its node.
base::Result<void> check_provider_url(std::string_view url);
base::Result<void> check_region(std::string_view region);

// Deterministic CBOR of a record that keeps the rules above: a map with exactly these keys, `addr`,
// `url`, `node`, `region`, `seq`, `expires` and `sig`.
std::string encode(const ProviderRecord& record);
// Malformed unless this is what encode() makes of such a record. Does not check the signature.
base::Result<ProviderRecord> decode_provider_record(base::ByteView bytes);

// What a node signs: `ron-provider/v1`, a newline, and the CBOR without `sig`.
std::string signed_text(const ProviderRecord& record);
// Fills in `node` and `sig`. Malformed if the record breaks a rule.
base::Result<ProviderRecord> sign(ProviderRecord record, const auth::SigningKey& key);
// A public-key operation: many of them belong on the blocking pool, not on an event loop.
bool has_valid_signature(const ProviderRecord& record);

// Under which key a lane of the DHT keeps the records of an address: 40 hex digits, the first 20
// bytes of BLAKE3("ron-lane/v1" ‖ one byte lane ‖ 32 bytes address). Another key for every lane, so
// that the replicas of a record live on unrelated nodes.
std::string lane_key(std::uint8_t lane, const base::ObjectId& addr);

}  // namespace ron::catalog
