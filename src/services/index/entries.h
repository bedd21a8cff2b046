// Entries: what the map of svc-index holds, and under which keys.
//
//   m                       position: the frame of the log from which on it is not in the map
//   n <name>                the current version of a name, which may say that it was removed
//   v <name> 00 <version>   every version of it
//   t <tenant>              how many names the tenant has
//   p <addr> <node>         a provider record, as signed, and what is known of it here
//   e <expires> <addr> <node>   the same by the time at which it is of no use any more
//   a <addr>                what the manifest at that address comes to
//   x <key>                 a pinned key
//
// Numbers are eight bytes, the highest first, so that keys are in order. A name has no zero byte.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "auth/ed25519.h"
#include "base/object_id.h"
#include "base/result.h"
#include "base/value.h"
#include "catalog/provider_record.h"

namespace ron::index {

// What a name stands for, as of one of its versions.
struct NameVersion {
  std::string name;
  std::uint64_t version = 0;             // from 1
  std::optional<base::ObjectId> target;  // none: the name was removed
  std::string type;                      // a media type, or nothing
  std::map<std::string, std::string> meta;
  std::string tenant;  // whose name it is
  std::int64_t at_ms = 0;

  // The same apart from when and which version.
  [[nodiscard]] bool says_same(const NameVersion& other) const {
    return target == other.target && type == other.type && meta == other.meta;
  }
  friend bool operator==(const NameVersion&, const NameVersion&) = default;
};
std::string encode(const NameVersion& version);
// IntegrityFail: what the map holds is nothing that was ever put there.
base::Result<NameVersion> decode_name_version(std::string_view bytes);
// As clients see it.
base::Value to_value(const NameVersion& version);

// A provider record and where it came from.
struct ProviderEntry {
  catalog::ProviderRecord record;
  std::int64_t seen_ms = 0;
  // Of this node and address no record with a lower `seq` counts before this time.
  std::uint64_t guard_until_ms = 0;
  bool is_own = false;  // announced here, and so published by us
};
std::string encode(const ProviderEntry& entry);
base::Result<ProviderEntry> decode_provider_entry(std::string_view bytes);

// What a manifest comes to.
struct ManifestFacts {
  std::uint64_t entries = 0;
  std::uint64_t length = 0;  // of all its files
  friend bool operator==(const ManifestFacts&, const ManifestFacts&) = default;
};
std::string encode(const ManifestFacts& facts);
base::Result<ManifestFacts> decode_manifest_facts(std::string_view bytes);

std::string encode_count(std::uint64_t count);
base::Result<std::uint64_t> decode_count(std::string_view bytes);

inline constexpr std::string_view kPositionKey = "m";
inline constexpr char kNamesTable = 'n';
inline constexpr char kExpiryTable = 'e';
inline constexpr char kPinsTable = 'x';
inline constexpr char kProvidersTable = 'p';

std::string name_key(std::string_view name);
std::string version_key(std::string_view name, std::uint64_t version);
std::string tenant_key(std::string_view tenant);
std::string provider_key(const base::ObjectId& addr, const auth::PublicKey& node);
// The prefix of all providers of an address.
std::string providers_prefix(const base::ObjectId& addr);
std::string expiry_key(std::uint64_t expires_ms, const base::ObjectId& addr,
                       const auth::PublicKey& node);
std::string manifest_key(const base::ObjectId& addr);
std::string pin_key(std::string_view key);
// The first key behind all that begin so; empty: there is none.
std::string behind(std::string prefix);

}  // namespace ron::index
