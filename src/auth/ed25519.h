// Ed25519 (RFC 8032) over OpenSSL's libcrypto: the keys people sign with, in the formats the
// `openssl` command reads and writes. Errors are Malformed, but Internal where libcrypto fails (out
// of memory); no message ever quotes a key.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"

struct evp_pkey_st;  // OpenSSL's EVP_PKEY

namespace ron::auth {

struct PublicKey {
  static constexpr std::size_t kBytes = 32;

  std::array<std::byte, kBytes> bytes{};

  friend auto operator<=>(const PublicKey&, const PublicKey&) = default;
};

using Signature = std::array<std::byte, 64>;

// More text than this is no key.
inline constexpr std::size_t kMaxPemBytes = 4096;
// In a directory of keys, the one by which others know the node.
inline constexpr std::string_view kNodeKeyFile = "node.pem";

// A PEM SubjectPublicKeyInfo (what `openssl pkey -pubout` writes), or the base64 of the raw 32
// bytes; white space around either is ignored. Refuses what VerifyingKey::make refuses.
base::Result<PublicKey> parse_public_key(std::string_view text);
base::Result<std::string> public_pem(const PublicKey& key);

namespace detail {
struct FreeKey {
  void operator()(evp_pkey_st* key) const noexcept;
};
}  // namespace detail

// A secret key. Move-only; libcrypto wipes the secret with it. Any thread may sign, several at
// once.
class SigningKey {
 public:
  static constexpr std::size_t kSeedBytes = 32;

  // `seed` is 32 bytes from a cryptographic random source: it is the secret.
  static base::Result<SigningKey> from_seed(base::ByteView seed);
  // One unencrypted PKCS#8 key (what `openssl genpkey -algorithm ed25519` writes) and nothing else
  // but white space.
  static base::Result<SigningKey> from_pem(std::string_view text);

  // PKCS#8, unencrypted: the text is secret, and wiping it is up to the caller.
  [[nodiscard]] base::Result<std::string> pem() const;
  [[nodiscard]] const PublicKey& public_key() const noexcept { return public_key_; }
  [[nodiscard]] base::Result<Signature> sign(base::ByteView message) const;

 private:
  using Key = std::unique_ptr<evp_pkey_st, detail::FreeKey>;

  SigningKey(Key key, const PublicKey& public_key) noexcept
      : key_(std::move(key)), public_key_(public_key) {}
  static base::Result<SigningKey> take(Key key);

  Key key_;
  PublicKey public_key_;
};

// A public key made ready to verify. Copies are cheap and share it; any thread may verify, several
// at once.
class VerifyingKey {
 public:
  // Refuses what no key generator makes: encodings that are not canonical, and the eight points of
  // small order, under which anybody can sign anything. Bytes that are no point of the curve at all
  // are accepted and verify nothing.
  static base::Result<VerifyingKey> make(const PublicKey& key);

  [[nodiscard]] const PublicKey& public_key() const noexcept { return public_key_; }
  // False also when libcrypto fails. A signature has one accepted form: S is below the order of the
  // group, so nobody makes a second one from it.
  [[nodiscard]] bool verify(base::ByteView message, const Signature& signature) const noexcept;

 private:
  VerifyingKey(std::shared_ptr<evp_pkey_st> key, const PublicKey& public_key) noexcept
      : key_(std::move(key)), public_key_(public_key) {}

  std::shared_ptr<evp_pkey_st> key_;
  PublicKey public_key_;
};

}  // namespace ron::auth
