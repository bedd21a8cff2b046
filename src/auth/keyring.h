// Root keys, their rotation, and what has been revoked.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "auth/tenancy.h"
#include "base/bytes.h"
#include "base/result.h"

namespace ron::auth {

inline constexpr std::size_t kMaxKeys = 16;
inline constexpr std::size_t kMaxKeyIdBytes = 32;
inline constexpr std::size_t kMaxKeyFileBytes = 256;
inline constexpr std::size_t kMaxDenied = 65'536;
inline constexpr std::size_t kNonceBytes = 16;

// 32 secret bytes. Compared in constant time, wiped on destruction, never printed; only
// print_key_file() shows them.
class Secret {
 public:
  static constexpr std::size_t kBytes = 32;

  explicit Secret(std::span<const std::byte, kBytes> bytes) noexcept;
  Secret(const Secret&) = default;
  Secret& operator=(const Secret&) = default;
  ~Secret();

  [[nodiscard]] base::ByteView bytes() const noexcept { return bytes_; }
  friend bool operator==(const Secret& a, const Secret& b) noexcept;

 private:
  std::array<std::byte, kBytes> bytes_;
};

// Key ids are 1 to 32 of lower-case letters, digits, '-' and '_': they travel inside tokens.
bool is_key_id(std::string_view text) noexcept;

// A key that signs tokens. From `not_after` on, none of its tokens verifies.
struct RootKey {
  std::string id;
  Secret secret;
  std::int64_t created_unix_s = 0;
  std::optional<std::int64_t> not_after_unix_s;

  friend bool operator==(const RootKey&, const RootKey&) = default;
};

// A key with an id derived from its secret (one way), so that a new key needs no second random draw
// and two keys never share an id. `random` must come from a cryptographic source.
base::Result<RootKey> make_root_key(std::span<const std::byte, Secret::kBytes> random,
                                    std::int64_t created_unix_s);

// Eight hex digits that name a key to people: they tell a copy from another key and are useless for
// signing. Empty when libcrypto fails.
std::string fingerprint(const RootKey& key);

// The key file, one key on one line: `ron-key-v1 <id> <base64url secret> <created> [<not_after>]`,
// times in RFC 3339. Parsing accepts one final newline; errors are Malformed and never quote the
// text. The printed text is secret.
base::Result<RootKey> parse_key_file(std::string_view text);
std::string print_key_file(const RootKey& key);

// What a token's identifier says: `v2:<key id>:<32 hex digits>:<tenancy>`. Before tenants were
// fixed at minting it was `v1:<key id>:<32 hex digits>`, which leaves the tenancy unsaid.
struct TokenIdentifier {
  std::string key_id;
  std::string token_id;  // the nonce in lower-case hex
  Tenancy tenancy = Tenancy::unsaid();

  friend bool operator==(const TokenIdentifier&, const TokenIdentifier&) = default;
};
base::Result<TokenIdentifier> parse_token_identifier(std::string_view text);
std::string print_token_identifier(std::string_view key_id,
                                   std::span<const std::byte, kNonceBytes> nonce,
                                   const Tenancy& tenancy);

// What must not be accepted any more. A token id or a fingerprint takes every token attenuated from
// it along; a key id takes every token of that key.
struct DenyList {
  std::set<std::string, std::less<>> token_ids;
  std::set<std::string, std::less<>> key_ids;
  std::set<std::string, std::less<>> fingerprints;
};

// An immutable snapshot: one active key that mints, older ones that verify during the overlap of a
// rotation, and the deny list. Share it as shared_ptr<const Keyring> and swap it whole; any thread
// may read it. Bounded by kMaxKeys and kMaxDenied.
class Keyring {
 public:
  // Malformed on bad or repeated key ids, on entries of the deny list that could never match, and
  // beyond the bounds.
  static base::Result<Keyring> make(RootKey active, std::vector<RootKey> older, DenyList denied);

  [[nodiscard]] const RootKey& active() const noexcept { return keys_.front(); }
  [[nodiscard]] std::span<const RootKey> keys() const noexcept { return keys_; }  // active first
  [[nodiscard]] const RootKey* find(std::string_view id) const noexcept;
  [[nodiscard]] const DenyList& denied() const noexcept { return denied_; }

  // `next` becomes active; the present active key verifies until `overlap_until_unix_s` or its own
  // not_after, whichever is earlier. Keys past their not_after at `now_unix_s` are dropped.
  [[nodiscard]] base::Result<Keyring> rotated(RootKey next, std::int64_t overlap_until_unix_s,
                                              std::int64_t now_unix_s) const;

 private:
  Keyring(std::vector<RootKey> keys, DenyList denied)
      : keys_(std::move(keys)), denied_(std::move(denied)) {}

  std::vector<RootKey> keys_;
  DenyList denied_;
};

}  // namespace ron::auth
