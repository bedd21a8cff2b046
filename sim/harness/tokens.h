// Capabilities for clients of a simulated service.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "auth/capability.h"
#include "auth/keyring.h"
#include "sim/harness/dice.h"

namespace ron::sim {

// `now_unix_s` must not be in the world's future.
std::shared_ptr<const auth::Keyring> make_keyring(Dice& dice, std::int64_t now_unix_s);
std::string mint(Dice& dice, const auth::Keyring& keyring, std::vector<auth::Caveat> caveats,
                 std::int64_t now_unix_s);
auth::ScopeCaveat only(auth::Scope scope);

// A correlation id nobody else has.
std::string draw_corr_id(Dice& dice);

}  // namespace ron::sim
