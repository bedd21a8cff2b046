// Arbitrary text as a key: what is accepted comes back from what it prints to, and no error is left
// behind for the thread's TLS connections.
#include <cstdint>
#include <cstdlib>
#include <span>

#include <openssl/err.h>

#include "auth/ed25519.h"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ron::auth;
  const auto text = ron::base::as_text(std::as_bytes(std::span(data, size)));
  if (const auto key = parse_public_key(text)) {
    require(parse_public_key(public_pem(*key).value()).value() == *key);
    require(VerifyingKey::make(*key).has_value());
  }
  if (const auto key = SigningKey::from_pem(text)) {
    const auto again = SigningKey::from_pem(key->pem().value());
    require(again && again->public_key() == key->public_key());
  }
  require(ERR_peek_error() == 0);
  return 0;
}
