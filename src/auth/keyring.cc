#include "auth/keyring.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <openssl/crypto.h>

#include "auth/digest.h"
#include "auth/macaroon.h"
#include "base/encoding.h"
#include "base/rfc3339.h"

namespace ron::auth {
namespace {

using base::Code;
using base::fail;
using base::Result;

constexpr std::string_view kKeyFileMagic = "ron-key-v1";
constexpr std::string_view kIdentifierMagic = "v2";
constexpr std::string_view kOldIdentifierMagic = "v1";
constexpr std::string_view kKeyIdLabel = "ron-key-id-v1";
constexpr std::size_t kDerivedIdBytes = 8;
constexpr std::string_view kKeyFingerprintLabel = "ron-key-fingerprint-v1";
constexpr std::size_t kFingerprintBytes = 4;
static_assert(1 + 2 * kDerivedIdBytes <= kMaxKeyIdBytes);

bool is_token_id(std::string_view text) { return is_lower_hex(text, 2 * kNonceBytes); }

std::optional<Secret> parse_secret(std::string_view text) {
  auto bytes = base::from_base64(text);
  if (!bytes) return std::nullopt;
  std::optional<Secret> secret;
  if (bytes->size() == Secret::kBytes) {
    std::string again = base::to_base64url(*bytes);
    if (again == text) secret.emplace(std::span<const std::byte, Secret::kBytes>(*bytes));
    OPENSSL_cleanse(again.data(), again.size());
  }
  OPENSSL_cleanse(bytes->data(), bytes->size());
  return secret;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

Result<> check(const DenyList& denied) {
  if (denied.token_ids.size() + denied.key_ids.size() + denied.fingerprints.size() > kMaxDenied) {
    return fail(Code::Malformed,
                "the deny list holds more than " + std::to_string(kMaxDenied) + " entries");
  }
  if (!std::ranges::all_of(denied.token_ids, is_token_id)) {
    return fail(Code::Malformed, "a denied token id is not 32 lower-case hex digits");
  }
  if (!std::ranges::all_of(denied.key_ids, is_key_id)) {
    return fail(Code::Malformed, "a denied key id is not a key id");
  }
  if (!std::ranges::all_of(denied.fingerprints, is_fingerprint)) {
    return fail(Code::Malformed, "a denied fingerprint is not eight lower-case hex digits");
  }
  return {};
}

}  // namespace

Secret::Secret(std::span<const std::byte, kBytes> bytes) noexcept {
  std::ranges::copy(bytes, bytes_.begin());
}

Secret::~Secret() { OPENSSL_cleanse(bytes_.data(), bytes_.size()); }

bool operator==(const Secret& a, const Secret& b) noexcept {
  return equal_in_constant_time(a.bytes_, b.bytes_);
}

bool is_key_id(std::string_view text) noexcept {
  return !text.empty() && text.size() <= kMaxKeyIdBytes && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  });
}

Result<RootKey> make_root_key(std::span<const std::byte, Secret::kBytes> random,
                              std::int64_t created_unix_s) {
  const auto digest = hmac_sha256(random, base::as_bytes(kKeyIdLabel));
  if (!digest) return fail(Code::Internal, "HMAC-SHA256 is not available");
  return RootKey{
      .id = "k" + base::to_hex(base::ByteView(*digest).first(kDerivedIdBytes)),
      .secret = Secret(random),
      .created_unix_s = created_unix_s,
      .not_after_unix_s = std::nullopt,
  };
}

std::string fingerprint(const RootKey& key) {
  const auto digest = hmac_sha256(key.secret.bytes(), base::as_bytes(kKeyFingerprintLabel));
  return digest ? base::to_hex(base::ByteView(*digest).first(kFingerprintBytes)) : "";
}

Result<RootKey> parse_key_file(std::string_view text) {
  if (text.size() > kMaxKeyFileBytes) return fail(Code::Malformed, "the key file is too large");
  if (text.ends_with('\n')) text.remove_suffix(1);
  const auto fields = split(text, ' ');
  if ((fields.size() != 4 && fields.size() != 5) || fields[0] != kKeyFileMagic) {
    return fail(Code::Malformed,
                "a key file is one line: ron-key-v1 <id> <secret> <created> [<not_after>]");
  }
  if (!is_key_id(fields[1])) return fail(Code::Malformed, "the key file's id is not a key id");
  const auto secret = parse_secret(fields[2]);
  if (!secret) return fail(Code::Malformed, "the key file's secret is not 32 bytes in base64url");
  const auto created = base::parse_rfc3339(fields[3]);
  if (!created) return fail(Code::Malformed, "the key file's creation time is not RFC 3339");
  std::optional<std::int64_t> not_after;
  if (fields.size() == 5) {
    const auto parsed = base::parse_rfc3339(fields[4]);
    if (!parsed) return fail(Code::Malformed, "the key file's not_after is not RFC 3339");
    not_after = *parsed;
  }
  return RootKey{.id = std::string(fields[1]),
                 .secret = *secret,
                 .created_unix_s = *created,
                 .not_after_unix_s = not_after};
}

std::string print_key_file(const RootKey& key) {
  std::string out(kKeyFileMagic);
  out += ' ' + key.id + ' ' + base::to_base64url(key.secret.bytes()) + ' ' +
         base::print_rfc3339(key.created_unix_s);
  if (key.not_after_unix_s) out += ' ' + base::print_rfc3339(*key.not_after_unix_s);
  out += '\n';
  return out;
}

Result<TokenIdentifier> parse_token_identifier(std::string_view text) {
  const auto bad = [] { return fail(Code::Malformed, "the token was not minted by this system"); };
  const auto fields = split(text, ':');
  const bool is_old = fields.size() == 3 && fields[0] == kOldIdentifierMagic;
  const bool is_new = fields.size() == 4 && fields[0] == kIdentifierMagic;
  if (!is_old && !is_new) return bad();
  if (!is_key_id(fields[1]) || !is_token_id(fields[2])) return bad();
  TokenIdentifier identifier{.key_id = std::string(fields[1]), .token_id = std::string(fields[2])};
  if (is_old) return identifier;
  auto tenancy = parse_tenancy(fields[3]);
  if (!tenancy) return bad();
  identifier.tenancy = std::move(*tenancy);
  return identifier;
}

std::string print_token_identifier(std::string_view key_id,
                                   std::span<const std::byte, kNonceBytes> nonce,
                                   const Tenancy& tenancy) {
  const bool is_old = tenancy.kind == Tenancy::Kind::Unsaid;
  std::string out(is_old ? kOldIdentifierMagic : kIdentifierMagic);
  out.append(":").append(key_id).append(":").append(base::to_hex(nonce));
  if (!is_old) out.append(":").append(print(tenancy));
  return out;
}

Result<Keyring> Keyring::make(RootKey active, std::vector<RootKey> older, DenyList denied) {
  std::vector<RootKey> keys;
  keys.reserve(older.size() + 1);
  keys.push_back(std::move(active));
  std::ranges::move(older, std::back_inserter(keys));
  if (keys.size() > kMaxKeys) {
    return fail(Code::Malformed, "a keyring holds at most " + std::to_string(kMaxKeys) + " keys");
  }
  std::set<std::string_view> ids;
  for (const RootKey& key : keys) {
    if (!is_key_id(key.id)) return fail(Code::Malformed, "a key has a bad id");
    if (!ids.insert(key.id).second) {
      return fail(Code::Malformed, "two keys have the id " + key.id);
    }
  }
  if (const auto checked = check(denied); !checked) return fail(checked.error());
  return Keyring(std::move(keys), std::move(denied));
}

const RootKey* Keyring::find(std::string_view id) const noexcept {
  const auto found = std::ranges::find(keys_, id, &RootKey::id);
  return found == keys_.end() ? nullptr : &*found;
}

Result<Keyring> Keyring::rotated(RootKey next, std::int64_t overlap_until_unix_s,
                                 std::int64_t now_unix_s) const {
  std::vector<RootKey> older(keys_);
  RootKey& retiring = older.front();
  retiring.not_after_unix_s =
      std::min(retiring.not_after_unix_s.value_or(overlap_until_unix_s), overlap_until_unix_s);
  std::erase_if(older, [&](const RootKey& key) {
    return key.not_after_unix_s && *key.not_after_unix_s <= now_unix_s;
  });
  return make(std::move(next), std::move(older), denied_);
}

}  // namespace ron::auth
