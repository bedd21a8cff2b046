// Root keys on disk: `*.key` files that nobody but their owner may read.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "auth/keyring.h"
#include "base/result.h"

namespace ron::cli {

// Permission bits of everyone but the owner, and of those who are not even in the file's group.
inline constexpr unsigned kAnyoneElse = 077;
inline constexpr unsigned kStrangers = 07;

// A small file; Malformed when one of these bits is set.
base::Result<std::string> read_secret_file(const std::string& path, std::size_t max_bytes,
                                           unsigned forbidden_bits);

struct KeyFile {
  std::string path;
  auth::RootKey key;
};

// Errors name the file and never quote what is in it. Malformed when others may read it.
base::Result<KeyFile> read_key_file(const std::string& path);
// Malformed when others may enter the directory, with what to do about it.
base::Result<void> check_key_directory(const std::string& directory);
// Every *.key of the directory by name; Malformed when there is none, or as above.
base::Result<std::vector<KeyFile>> read_key_directory(const std::string& directory);

// The newest key mints, the others verify. `keys` must not be empty.
base::Result<auth::Keyring> keyring_of(std::vector<auth::RootKey> keys, auth::DenyList denied);

}  // namespace ron::cli
