#include "auth/ed25519.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include "auth/evp_context.h"
#include "base/encoding.h"

namespace ron::auth {
namespace {

using base::Code;
using base::fail;
using base::Result;

constexpr std::string_view kWhiteSpace = " \t\r\n";
constexpr std::string_view kPublicLabel = "PUBLIC KEY";
constexpr std::string_view kPrivateLabel = "PRIVATE KEY";

// DER of a SubjectPublicKeyInfo up to the 32 bytes of an Ed25519 key (RFC 8410, section 4).
constexpr auto kPublicKeyHead = std::to_array<unsigned char>(
    {0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00});

struct FreeBio {
  void operator()(BIO* bio) const noexcept { BIO_free_all(bio); }
};
using BioPtr = std::unique_ptr<BIO, FreeBio>;

struct FreePkcs8 {
  void operator()(PKCS8_PRIV_KEY_INFO* info) const noexcept { PKCS8_PRIV_KEY_INFO_free(info); }
};

const unsigned char* data_of(base::ByteView bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}

// What failed here must not be found in the thread's error queue by its next TLS connection.
std::unexpected<base::Error> refuse(Code code, std::string why) {
  ERR_clear_error();
  return fail(code, std::move(why));
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kWhiteSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kWhiteSpace) - first + 1);
}

// One PEM block. Its bytes are wiped with it.
class PemBlock {
 public:
  PemBlock() = default;
  PemBlock(const PemBlock&) = delete;
  PemBlock& operator=(const PemBlock&) = delete;
  ~PemBlock() {
    OPENSSL_secure_free(name_);
    OPENSSL_secure_free(header_);
    OPENSSL_secure_clear_free(data_, static_cast<std::size_t>(length_));
  }

  // Fills the block from a text that is this block and nothing else.
  Result<> read(std::string_view text) {
    if (text.size() > kMaxPemBytes) return fail(Code::Malformed, "too long for a key");
    text = trimmed(text);
    if (!text.starts_with("-----BEGIN ")) {
      return fail(Code::Malformed, "not a PEM file: it does not begin with -----BEGIN");
    }
    const BioPtr in(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
    if (!in) return refuse(Code::Internal, "libcrypto is out of memory");
    if (PEM_read_bio_ex(in.get(), &name_, &header_, &data_, &length_, PEM_FLAG_SECURE) != 1) {
      return refuse(Code::Malformed, "the PEM block is damaged");
    }
    if (BIO_pending(in.get()) != 0) {
      return refuse(Code::Malformed, "there is more than one PEM block, or text behind it");
    }
    if (header_ != nullptr && *header_ != '\0') {
      return fail(Code::Malformed, "the PEM block has headers: an encrypted key?");
    }
    return {};
  }

  [[nodiscard]] std::string_view label() const noexcept { return name_; }
  [[nodiscard]] base::ByteView der() const noexcept {
    return {reinterpret_cast<const std::byte*>(data_), static_cast<std::size_t>(length_)};
  }

 private:
  char* name_ = nullptr;
  char* header_ = nullptr;
  unsigned char* data_ = nullptr;
  long length_ = 0;
};

Result<PublicKey> public_key_from_der(base::ByteView der) {
  const base::ByteView head = std::as_bytes(std::span(kPublicKeyHead));
  PublicKey key;
  if (der.size() != head.size() + PublicKey::kBytes ||
      !std::ranges::equal(der.first(head.size()), head)) {
    return fail(Code::Malformed, "the public key is not an Ed25519 key");
  }
  std::ranges::copy(der.subspan(head.size()), key.bytes.begin());
  return key;
}

// The y coordinates of the points of small order, in canonical form: orders 4, 1, 2 and 8, 8. The
// two points of each differ in the sign bit only.
constexpr std::array<std::string_view, 5> kSmallOrder = {
    "0000000000000000000000000000000000000000000000000000000000000000",
    "0100000000000000000000000000000000000000000000000000000000000000",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a"};

Result<> check_point(const PublicKey& key) {
  std::array<std::byte, PublicKey::kBytes> y = key.bytes;
  y.back() &= std::byte{0x7f};
  // From 2^255 - 19 on there is a smaller number for the same coordinate.
  const bool reduced =
      y.back() != std::byte{0x7f} || y.front() < std::byte{0xed} ||
      !std::ranges::all_of(
          std::span(y).subspan(1, y.size() - 2), [](std::byte b) { return b == std::byte{0xff}; });
  if (!reduced) return fail(Code::Malformed, "the public key is not in canonical form");
  if (std::ranges::find(kSmallOrder, base::to_hex(y)) != kSmallOrder.end()) {
    return fail(Code::Malformed, "the public key is a point of small order: anybody can sign");
  }
  return {};
}

// Each thread verifies with one context of its own. It is empty: a context that is initialised
// again would silently go on with the key it has.
EVP_MD_CTX* verify_context() noexcept {
  thread_local const EvpContextPtr context(EVP_MD_CTX_new());
  if (context) EVP_MD_CTX_reset(context.get());
  return context.get();
}

}  // namespace

void detail::FreeKey::operator()(evp_pkey_st* key) const noexcept { EVP_PKEY_free(key); }

Result<PublicKey> parse_public_key(std::string_view text) {
  if (text.size() > kMaxPemBytes) return fail(Code::Malformed, "too long for a public key");
  text = trimmed(text);
  PublicKey key;
  if (text.starts_with("-----")) {
    PemBlock block;
    if (auto read = block.read(text); !read) return fail(std::move(read.error()));
    if (block.label() != kPublicLabel) {
      return fail(Code::Malformed, "the PEM block is not a PUBLIC KEY");
    }
    auto parsed = public_key_from_der(block.der());
    if (!parsed) return parsed;
    key = *parsed;
  } else {
    const auto bytes = base::from_base64_exact(text);
    if (!bytes || bytes->size() != PublicKey::kBytes) {
      return fail(Code::Malformed,
                  "a public key is a PEM file or the base64 of 32 bytes, and this is neither");
    }
    std::ranges::copy(*bytes, key.bytes.begin());
  }
  if (auto sound = check_point(key); !sound) return fail(std::move(sound.error()));
  return key;
}

Result<std::string> public_pem(const PublicKey& key) {
  std::vector<std::byte> der(kPublicKeyHead.size() + PublicKey::kBytes);
  std::ranges::copy(std::as_bytes(std::span(kPublicKeyHead)), der.begin());
  std::ranges::copy(key.bytes, der.begin() + kPublicKeyHead.size());
  const std::string label(kPublicLabel);
  return "-----BEGIN " + label + "-----\n" + base::to_base64(der) + "\n-----END " + label +
         "-----\n";
}

Result<SigningKey> SigningKey::take(Key key) {
  PublicKey public_key;
  std::size_t length = public_key.bytes.size();
  const int done = EVP_PKEY_get_raw_public_key(
      key.get(), reinterpret_cast<unsigned char*>(public_key.bytes.data()), &length);
  if (done != 1 || length != public_key.bytes.size()) {
    return refuse(Code::Internal, "libcrypto cannot derive the public key");
  }
  return SigningKey(std::move(key), public_key);
}

Result<SigningKey> SigningKey::from_seed(base::ByteView seed) {
  if (seed.size() != kSeedBytes) return fail(Code::Malformed, "a seed has 32 bytes");
  Key key(EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, data_of(seed), seed.size()));
  if (!key) return refuse(Code::Internal, "libcrypto cannot make the key");
  return take(std::move(key));
}

Result<SigningKey> SigningKey::from_pem(std::string_view text) {
  PemBlock block;
  if (auto read = block.read(text); !read) return fail(std::move(read.error()));
  if (block.label() == "ENCRYPTED PRIVATE KEY") {
    return fail(Code::Malformed, "the private key is encrypted; only unencrypted PKCS#8 is read");
  }
  if (block.label() != kPrivateLabel) {
    return fail(Code::Malformed, "the PEM block is not a PKCS#8 PRIVATE KEY");
  }
  const unsigned char* at = data_of(block.der());
  const unsigned char* const end = at + block.der().size();
  const std::unique_ptr<PKCS8_PRIV_KEY_INFO, FreePkcs8> info(
      d2i_PKCS8_PRIV_KEY_INFO(nullptr, &at, static_cast<long>(block.der().size())));
  if (!info || at != end) return refuse(Code::Malformed, "the private key is not PKCS#8");
  Key key(EVP_PKCS82PKEY(info.get()));
  if (!key) return refuse(Code::Malformed, "the private key is damaged, or of an unknown kind");
  if (EVP_PKEY_get_id(key.get()) != EVP_PKEY_ED25519) {
    return refuse(Code::Malformed, "the private key is not an Ed25519 key");
  }
  return take(std::move(key));
}

Result<std::string> SigningKey::pem() const {
  const BioPtr out(BIO_new(BIO_s_secmem()));
  if (!out || PEM_write_bio_PKCS8PrivateKey(out.get(), key_.get(), nullptr, nullptr, 0, nullptr,
                                            nullptr) != 1) {
    return refuse(Code::Internal, "libcrypto cannot write the key");
  }
  char* text = nullptr;
  const long length = BIO_get_mem_data(out.get(), &text);
  return std::string(text, static_cast<std::size_t>(length));
}

Result<Signature> SigningKey::sign(base::ByteView message) const {
  // A context of its own, which goes with the reference to the secret that it holds.
  const EvpContextPtr context(EVP_MD_CTX_new());
  Signature signature;
  std::size_t length = signature.size();
  if (!context || EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key_.get()) != 1 ||
      EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &length,
                     data_of(message), message.size()) != 1 ||
      length != signature.size()) {
    return refuse(Code::Internal, "libcrypto cannot sign");
  }
  return signature;
}

Result<VerifyingKey> VerifyingKey::make(const PublicKey& key) {
  if (auto sound = check_point(key); !sound) return fail(std::move(sound.error()));
  std::shared_ptr<evp_pkey_st> made(
      EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, data_of(key.bytes), key.bytes.size()),
      detail::FreeKey{});
  if (!made) return refuse(Code::Internal, "libcrypto cannot make the key");
  return VerifyingKey(std::move(made), key);
}

bool VerifyingKey::verify(base::ByteView message, const Signature& signature) const noexcept {
  EVP_MD_CTX* const context = verify_context();
  const bool holds =
      context != nullptr &&
      EVP_DigestVerifyInit(context, nullptr, nullptr, nullptr, key_.get()) == 1 &&
      EVP_DigestVerify(context, reinterpret_cast<const unsigned char*>(signature.data()),
                       signature.size(), data_of(message), message.size()) == 1;
  if (!holds) ERR_clear_error();
  return holds;
}

}  // namespace ron::auth
