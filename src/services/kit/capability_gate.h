// CapabilityGate: stage 8 of the ingress, and the [auth] section behind it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "auth/access.h"
#include "auth/keyring.h"
#include "base/result.h"
#include "config/section.h"
#include "http/request.h"
#include "platform/clock.h"
#include "runtime/watch_state.h"

namespace ron::kit {

struct AuthConfig {
  bool public_reads = true;
  std::string keys_dir;
  config::TextList deny;
};
const config::Section<AuthConfig>& auth_section();

// `token:<32 hex>`, `key:<id>` or `fingerprint:<8 hex>` each; Malformed names the bad entry.
base::Result<auth::DenyList> parse_deny_list(const config::TextList& entries);

// Any thread. The keyring is an immutable snapshot that a reload swaps whole.
class CapabilityGate {
 public:
  CapabilityGate(const platform::Clock& clock, std::shared_ptr<const auth::Keyring> keyring,
                 bool public_reads);

  // Lets the request through and fills its tenant and grant, or says 401 or 403.
  base::Result<void> check(http::Request& request, auth::Access access) const;
  // Fills the tenant and the fingerprint of a genuine capability that is shown without being asked
  // for; anything else is somebody else's business.
  void identify(http::Request& request) const;

  void apply(std::shared_ptr<const auth::Keyring> keyring, bool public_reads);
  [[nodiscard]] std::shared_ptr<const auth::Keyring> keyring() const {
    return state_.get().value.keyring;
  }

 private:
  struct State {
    std::shared_ptr<const auth::Keyring> keyring;
    bool public_reads;
  };
  const platform::Clock& clock_;
  runtime::WatchState<State> state_;
};

}  // namespace ron::kit
