// Root keys and the admin token at start-up.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "auth/keyring.h"
#include "base/result.h"
#include "platform/clock.h"
#include "platform/random.h"
#include "services/kit/capability_gate.h"

namespace ron::app {

// The keys of `keys_dir` (every *.key; the newest mints, the others verify), or a fresh key that
// lives as long as the process when no directory is set. Errors name the file.
base::Result<std::shared_ptr<const auth::Keyring>> load_keyring(const kit::AuthConfig& config,
                                                                platform::Random& random,
                                                                std::int64_t now_unix_s);
// The same keys with another deny list: what a reload does when keys are not on disk.
base::Result<std::shared_ptr<const auth::Keyring>> with_deny_list(const auth::Keyring& current,
                                                                  const kit::AuthConfig& config);

// A token with every scope. Secret.
base::Result<std::string> mint_admin_token(const auth::Keyring& keyring, platform::Random& random,
                                           std::int64_t now_unix_s);

}  // namespace ron::app
