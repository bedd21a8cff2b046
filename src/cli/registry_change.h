// `ron registry propose`, `supersede`, `approve`, `commit`, `withdraw` and `reject`: the way of a
// change. Each returns an exit code and blocks.
#pragma once

#include <string>

#include "auth/ed25519.h"
#include "base/value.h"
#include "cli/client_options.h"

namespace ron::cli {

// What the exact next command is printed with: the flags that say which server is meant.
using SameServer = std::string;

// The document of POST /registry/proposals.
int registry_propose(const ClientOptions& options, base::Value document, const SameServer& same,
                     bool json);
// Undoes HEAD's change and makes this one instead.
int registry_supersede(const ClientOptions& options, base::Value change, const std::string& reason,
                       const SameServer& same, bool json);

struct ApprovePlan {
  std::string id;
  auth::SigningKey key;
  bool yes = false;  // does not ask
};
// Signs only the text that follows from the payload shown.
int registry_approve(const ClientOptions& options, const ApprovePlan& plan, const SameServer& same);
int registry_commit(const ClientOptions& options, const std::string& id, bool json);
// Takes a proposal back, as its proposer or with registry:govern. `command` is withdraw or reject.
int registry_withdraw(const ClientOptions& options, const std::string& id,
                      const std::string& command);

}  // namespace ron::cli
