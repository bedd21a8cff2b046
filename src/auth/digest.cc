#include "auth/digest.h"

#include <algorithm>
#include <climits>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "auth/evp_context.h"

namespace ron::auth {

std::optional<Digest> hmac_sha256(base::ByteView key, base::ByteView data) noexcept {
  if (key.empty() || key.size() > INT_MAX) return std::nullopt;
  Digest out;
  unsigned length = 0;
  const unsigned char* done = HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
                                   reinterpret_cast<const unsigned char*>(data.data()), data.size(),
                                   reinterpret_cast<unsigned char*>(out.data()), &length);
  if (done == nullptr || length != out.size()) return std::nullopt;
  return out;
}

std::optional<Digest> sha256(base::ByteView data) noexcept { return sha256({data}); }

std::optional<Digest> sha256(std::initializer_list<base::ByteView> parts) noexcept {
  // Finding the algorithm and making a context cost more than hashing a few hundred bytes does.
  static const EVP_MD* const algorithm = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  thread_local const EvpContextPtr context(EVP_MD_CTX_new());
  if (!context || EVP_DigestInit_ex2(context.get(), algorithm, nullptr) != 1) return std::nullopt;
  for (const base::ByteView part : parts) {
    if (EVP_DigestUpdate(context.get(), part.data(), part.size()) != 1) return std::nullopt;
  }
  Digest out;
  unsigned length = 0;
  const int done =
      EVP_DigestFinal_ex(context.get(), reinterpret_cast<unsigned char*>(out.data()), &length);
  if (done != 1 || length != out.size()) return std::nullopt;
  return out;
}

bool equal_in_constant_time(base::ByteView a, base::ByteView b) noexcept {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

bool is_lower_hex(std::string_view text, std::size_t digits) noexcept {
  return text.size() == digits && std::ranges::all_of(text, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

}  // namespace ron::auth
