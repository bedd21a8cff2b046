// Ed25519 keys that a process makes for itself: each a PKCS#8 PEM file, 0600, in its directory of
// keys.
#pragma once

#include <string>

#include "auth/ed25519.h"
#include "base/result.h"
#include "config/load.h"
#include "platform/disk.h"
#include "platform/random.h"
#include "platform/task.h"

namespace ron::kit {

// Where a process keeps its keys: auth.keys_dir, else beside the services' directories, of which
// `service_directory` is one.
std::string keys_directory(const config::Config& config, const std::string& service_directory);

base::Result<auth::SigningKey> new_signing_key(platform::Random& random);

// The key in `directory`/`name`, made there if there is none. Errors name the file and never quote
// it. Not cancel-safe: do it again.
platform::Task<base::Result<auth::SigningKey>> load_or_make_key(platform::Disk* disk,
                                                                platform::Random* random,
                                                                std::string directory,
                                                                std::string name);

// A small text, of at most auth::kMaxPemBytes: a key or a token. Errors name the file. Cancel-safe.
platform::Task<base::Result<std::string>> read_small_text(platform::Disk* disk, std::string path);

}  // namespace ron::kit
