#include "sim/harness/tokens.h"

#include <array>
#include <utility>

#include "base/ulid.h"

namespace ron::sim {

std::shared_ptr<const auth::Keyring> make_keyring(Dice& dice, std::int64_t now_unix_s) {
  std::array<std::byte, auth::Secret::kBytes> secret{};
  for (std::byte& byte : secret) byte = static_cast<std::byte>(dice.below(256));
  auth::RootKey key = auth::make_root_key(secret, now_unix_s).value();
  return std::make_shared<const auth::Keyring>(auth::Keyring::make(std::move(key), {}, {}).value());
}

std::string mint(Dice& dice, const auth::Keyring& keyring, std::vector<auth::Caveat> caveats,
                 std::int64_t now_unix_s) {
  std::array<std::byte, auth::kNonceBytes> nonce{};
  for (std::byte& byte : nonce) byte = static_cast<std::byte>(dice.below(256));
  return auth::mint_token(keyring, caveats, nonce, now_unix_s).value().text();
}

auth::ScopeCaveat only(auth::Scope scope) {
  auth::ScopeSet scopes;
  scopes.add(scope);
  return {scopes};
}

std::string draw_corr_id(Dice& dice) {
  const std::uint64_t high = dice.next();
  return std::string(base::Ulid(high >> 20, static_cast<std::uint16_t>(high), dice.next()).text());
}

}  // namespace ron::sim
