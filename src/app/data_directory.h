// The directory of --data: what a process finds there, and what it makes on its first start.
//
//   DIR/keys/*.key         root keys, unless auth.keys_dir says where they are
//   DIR/keys/admin.token   a token with every scope, for any tenant, for the commands of this
//                          machine
//   DIR/storage            objects, unless storage.data_dirs says where they are; so for each
//   service
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "auth/keyring.h"
#include "base/result.h"
#include "platform/random.h"
#include "services/kit/capability_gate.h"

namespace ron::app {

inline constexpr std::string_view kDefaultDataDirectory = "ron-data";

// Names of what is in it. A plain value.
struct DataDirectory {
  std::string path;

  [[nodiscard]] std::string keys() const { return path + "/keys"; }
  [[nodiscard]] std::string admin_token() const { return keys() + "/admin.token"; }
  // The part of one service.
  [[nodiscard]] std::string of(std::string_view service) const {
    return path + "/" + std::string(service);
  }
  // Where root keys are: as configured, else here.
  [[nodiscard]] kit::AuthConfig auth(const kit::AuthConfig& config) const;
};

// Makes the directories (0700) and, if there is none, a root key; true on the first start there.
// Errors name the file. Malformed when others may enter the directory of keys. Before the loops
// run.
base::Result<bool> prepare(const DataDirectory& directory, const kit::AuthConfig& config,
                           platform::Random& random, std::int64_t now_unix_s);
// Writes the admin token (0600) unless there is one that these keys honour and that may name any
// tenant: those of older versions may not. True when it replaced one.
base::Result<bool> keep_admin_token(const DataDirectory& directory, const auth::Keyring& keyring,
                                    platform::Random& random, std::int64_t now_unix_s);

}  // namespace ron::app
