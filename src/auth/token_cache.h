// TokenCache: the genuine tokens seen lately under one keyring, so that a client's signature chain
// is computed once and not with every request.
//
// Only genuine tokens are kept; anything else is verified, and refused, anew. Another keyring
// forgets them all, because it may have revoked one; expiry and caveats are checked per request, by
// permits(). One thread only. Bounded: kSlots tokens of at most kMaxText characters, the newer
// replaces the older where two meet in a slot.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "auth/capability.h"

namespace ron::auth {

class TokenCache {
 public:
  static constexpr std::size_t kSlots = 64;
  static constexpr std::size_t kMaxText = 1024;

  // As verify_token(). The token is good until the next call.
  base::Result<const VerifiedToken*> verify(const std::shared_ptr<const Keyring>& keyring,
                                            std::string_view bearer_text);

 private:
  struct Slot {
    std::string text;
    VerifiedToken token;
  };
  void follow(const std::shared_ptr<const Keyring>& keyring);

  // Weak, so that a keyring nobody uses any more is wiped at once.
  std::weak_ptr<const Keyring> keyring_;
  std::array<Slot, kSlots> slots_;
  VerifiedToken too_long_;
};

}  // namespace ron::auth
