// Root keys, the admin token and certificates at start-up.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "app/services.h"
#include "auth/keyring.h"
#include "base/result.h"
#include "config/load.h"
#include "platform/clock.h"
#include "platform/random.h"
#include "platform/tls.h"
#include "services/kit/capability_gate.h"
#include "services/kit/config.h"

namespace ron::app {

// The keys of `keys_dir` (every *.key; the newest mints, the others verify), or a fresh key that
// lives as long as the process when no directory is set. Errors name the file.
base::Result<std::shared_ptr<const auth::Keyring>> load_keyring(const kit::AuthConfig& config,
                                                                platform::Random& random,
                                                                std::int64_t now_unix_s);
// The same keys with another deny list: what a reload does when keys are not on disk.
base::Result<std::shared_ptr<const auth::Keyring>> with_deny_list(const auth::Keyring& current,
                                                                  const kit::AuthConfig& config);

// A token with every scope, whose holder may act for any tenant. Secret.
base::Result<std::string> mint_admin_token(const auth::Keyring& keyring, platform::Random& random,
                                           std::int64_t now_unix_s);

// The certificate and private key of a server, which must be nobody else's to read; null when none
// are configured. `previous` is what they replace: its clients can resume their sessions. Errors
// name the file.
base::Result<std::shared_ptr<const platform::TlsServer>> load_tls(
    const kit::TlsConfig& config, const platform::TlsServer* previous);

// Whom services trust that call others: those of tls.ca_path, else whom the system trusts, which
// may be nobody. The first of them that says whom says it for all; null when none calls others.
// Errors name the service and the file.
base::Result<std::shared_ptr<const platform::TlsClient>> load_trust(const Selection& selection,
                                                                    const config::Config& config);

}  // namespace ron::app
