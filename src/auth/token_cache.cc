#include "auth/token_cache.h"

#include <functional>
#include <utility>

#include "auth/digest.h"
#include "base/bytes.h"

namespace ron::auth {

void TokenCache::follow(const std::shared_ptr<const Keyring>& keyring) {
  const bool same = !keyring_.owner_before(keyring) && !keyring.owner_before(keyring_);
  if (same) return;
  slots_ = {};
  keyring_ = keyring;
}

base::Result<const VerifiedToken*> TokenCache::verify(const std::shared_ptr<const Keyring>& keyring,
                                                      std::string_view bearer_text) {
  follow(keyring);
  Slot& slot = slots_[std::hash<std::string_view>{}(bearer_text) % kSlots];
  // What is kept is a secret: how much of it was guessed must not show.
  if (!slot.text.empty() &&
      equal_in_constant_time(base::as_bytes(slot.text), base::as_bytes(bearer_text)))
    return &slot.token;
  auto verified = verify_token(*keyring, bearer_text);
  if (!verified) return base::fail(std::move(verified.error()));
  if (bearer_text.size() > kMaxText) {
    too_long_ = std::move(*verified);
    return &too_long_;
  }
  slot = {std::string(bearer_text), std::move(*verified)};
  return &slot.token;
}

}  // namespace ron::auth
