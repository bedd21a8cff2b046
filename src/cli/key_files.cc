#include "cli/key_files.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "platform/posix/files.h"

namespace ron::cli {

using base::Code;
using base::fail;

base::Result<std::string> read_secret_file(const std::string& path, std::size_t max_bytes,
                                           unsigned forbidden_bits) {
  const auto mode = platform::posix::file_mode(path);
  if (!mode) return fail(mode.error());
  if ((*mode & forbidden_bits) != 0) {
    return fail(Code::Malformed,
                "others may read the key '" + path + "'; run chmod 600 '" + path + "'");
  }
  return platform::posix::read_small_file(path, max_bytes);
}

base::Result<KeyFile> read_key_file(const std::string& path) {
  const auto text = read_secret_file(path, auth::kMaxKeyFileBytes, kAnyoneElse);
  if (!text) return fail(text.error());
  auto key = auth::parse_key_file(*text);
  if (!key) return fail(Code::Malformed, "'" + path + "': " + key.error().message);
  return KeyFile{path, std::move(*key)};
}

base::Result<void> check_key_directory(const std::string& directory) {
  const auto mode = platform::posix::file_mode(directory);
  if (!mode) return fail(mode.error());
  if ((*mode & kAnyoneElse) == 0) return {};
  return fail(Code::Malformed, "others may enter the directory of keys '" + directory +
                                   "'; run chmod 700 '" + directory + "'");
}

base::Result<std::vector<KeyFile>> read_key_directory(const std::string& directory) {
  const auto is_private = check_key_directory(directory);
  if (!is_private) return fail(is_private.error());
  const auto names = platform::posix::list_directory(directory);
  if (!names) return fail(names.error());
  std::vector<KeyFile> keys;
  for (const std::string& name : *names) {
    if (!name.ends_with(".key")) continue;
    auto key = read_key_file(directory + "/" + name);
    if (!key) return fail(key.error());
    keys.push_back(std::move(*key));
  }
  if (keys.empty()) return fail(Code::Malformed, "'" + directory + "' holds no *.key file");
  return keys;
}

base::Result<auth::Keyring> keyring_of(std::vector<auth::RootKey> keys, auth::DenyList denied) {
  std::ranges::sort(keys, std::greater(),
                    [](const auth::RootKey& key) { return std::pair(key.created_unix_s, key.id); });
  auth::RootKey active = std::move(keys.front());
  keys.erase(keys.begin());
  return auth::Keyring::make(std::move(active), std::move(keys), std::move(denied));
}

}  // namespace ron::cli
