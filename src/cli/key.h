// `ron key`: making and looking at root keys. Secrets go to their file and nowhere else.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "platform/random.h"

namespace ron::cli {

// Exactly one of `file` and `directory` is set.
struct KeyPlan {
  std::string file = {};
  std::string directory = {};
  std::optional<std::int64_t> not_after_unix_s = {};
  std::optional<std::int64_t> retire_older_at_unix_s = {};  // with a directory only
};

// Writes a new key, mode 0600 in a directory of mode 0700, and returns what may be said of it. In a
// directory it becomes the active one; older keys end at `retire_older_at` unless they end before.
// Never replaces a file. PreconditionFailed when the file is there, when others may enter the
// directory, or when it holds as many keys as a keyring may.
base::Result<std::string> generate_key(const KeyPlan& plan, platform::Random& random,
                                       std::int64_t now_unix_s);

// One line per key, the active one first; of a directory the node's public key last, if it has one.
base::Result<std::string> show_keys(const std::string& file_or_directory, std::int64_t now_unix_s);

}  // namespace ron::cli
