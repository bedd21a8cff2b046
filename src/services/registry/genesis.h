// The keys a registry starts with: its own, with which it signs checkpoints, and those of the first
// signers, if nobody else has said who they are.
#pragma once

#include <memory>
#include <string>

#include "auth/ed25519.h"
#include "base/result.h"
#include "chain/signers.h"
#include "platform/disk.h"
#include "platform/random.h"
#include "platform/task.h"

namespace ron::registry {

inline constexpr std::string_view kCheckpointKeyName = "registry.pem";
inline constexpr std::string_view kSignersName = "signers";
// Keys made when nobody named signers, and how many of them have to approve.
inline constexpr std::size_t kFirstSigners = 3;
inline constexpr std::uint64_t kFirstThreshold = 2;

// The key in `directory`, made there if there is none. Not cancel-safe: do it again.
platform::Task<base::Result<auth::SigningKey>> load_checkpoint_key(platform::Disk* disk,
                                                                   platform::Random* random,
                                                                   std::string directory);

// Three keys with threshold 2 in `directory`/signers, made there unless an earlier start did: for
// each a secret PKCS#8 PEM file and a public one. Not cancel-safe: do it again.
platform::Task<base::Result<chain::SignerSet>> make_first_signers(platform::Disk* disk,
                                                                  platform::Random* random,
                                                                  std::string directory);

// The same in memory: nobody can ever sign.
base::Result<chain::SignerSet> make_lost_signers(platform::Random& random);

}  // namespace ron::registry
