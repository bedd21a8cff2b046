#include "app/keys.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "auth/capability.h"
#include "auth/scope.h"
#include "platform/posix/files.h"

namespace ron::app {
namespace {

using base::Code;
using base::fail;
using KeyringPtr = std::shared_ptr<const auth::Keyring>;

base::Result<std::vector<auth::RootKey>> read_keys(const std::string& directory) {
  const auto names = platform::posix::list_directory(directory);
  if (!names) return fail(Code::Malformed, "auth.keys_dir: " + names.error().message);
  std::vector<auth::RootKey> keys;
  for (const std::string& name : *names) {
    if (!name.ends_with(".key")) continue;
    const std::string path = directory + "/" + name;
    const auto mode = platform::posix::file_mode(path);
    if (!mode) return fail(Code::Malformed, path + ": " + mode.error().message);
    if ((*mode & 077U) != 0) {
      return fail(Code::Malformed, path + ": others may read this key; run chmod 600 on it");
    }
    const auto text = platform::posix::read_small_file(path, auth::kMaxKeyFileBytes);
    if (!text) return fail(Code::Malformed, path + ": " + text.error().message);
    auto key = auth::parse_key_file(*text);
    if (!key) return fail(Code::Malformed, path + ": " + key.error().message);
    keys.push_back(std::move(*key));
  }
  if (keys.empty())
    return fail(Code::Malformed, "auth.keys_dir: " + directory + " holds no *.key file");
  return keys;
}

base::Result<KeyringPtr> make_keyring(std::vector<auth::RootKey> keys,
                                      const kit::AuthConfig& config) {
  auto denied = kit::parse_deny_list(config.deny);
  if (!denied) return fail(denied.error());
  std::ranges::sort(keys, std::greater(),
                    [](const auth::RootKey& key) { return std::pair(key.created_unix_s, key.id); });
  auth::RootKey active = std::move(keys.front());
  keys.erase(keys.begin());
  auto keyring = auth::Keyring::make(std::move(active), std::move(keys), std::move(*denied));
  if (!keyring) return fail(Code::Malformed, "auth: " + keyring.error().message);
  return std::make_shared<const auth::Keyring>(std::move(*keyring));
}

}  // namespace

base::Result<KeyringPtr> load_keyring(const kit::AuthConfig& config, platform::Random& random,
                                      std::int64_t now_unix_s) {
  if (!config.keys_dir.empty()) {
    auto keys = read_keys(config.keys_dir);
    if (!keys) return fail(keys.error());
    return make_keyring(std::move(*keys), config);
  }
  std::array<std::byte, auth::Secret::kBytes> secret{};
  random.fill(secret);
  auto key = auth::make_root_key(secret, now_unix_s);
  if (!key) return fail(key.error());
  return make_keyring({std::move(*key)}, config);
}

base::Result<KeyringPtr> with_deny_list(const auth::Keyring& current,
                                        const kit::AuthConfig& config) {
  return make_keyring({current.keys().begin(), current.keys().end()}, config);
}

base::Result<std::string> mint_admin_token(const auth::Keyring& keyring, platform::Random& random,
                                           std::int64_t now_unix_s) {
  std::array<std::byte, auth::kNonceBytes> nonce{};
  random.fill(nonce);
  auto token = auth::mint_token(keyring, {}, nonce, now_unix_s);
  if (!token) return fail(token.error());
  return token->text();
}

}  // namespace ron::app
