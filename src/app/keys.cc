#include "app/keys.h"

#include <array>
#include <utility>
#include <vector>

#include "auth/capability.h"
#include "base/units.h"
#include "cli/key_files.h"
#include "platform/posix/files.h"

namespace ron::app {
namespace {

using base::Code;
using base::fail;
using KeyringPtr = std::shared_ptr<const auth::Keyring>;

constexpr std::size_t kPemFileBytes = base::kMiB;

base::Result<KeyringPtr> make_keyring(std::vector<auth::RootKey> keys,
                                      const kit::AuthConfig& config) {
  auto denied = kit::parse_deny_list(config.deny);
  if (!denied) return fail(denied.error());
  auto keyring = cli::keyring_of(std::move(keys), std::move(*denied));
  if (!keyring) return fail(Code::Malformed, "auth: " + keyring.error().message);
  return std::make_shared<const auth::Keyring>(std::move(*keyring));
}

}  // namespace

base::Result<KeyringPtr> load_keyring(const kit::AuthConfig& config, platform::Random& random,
                                      std::int64_t now_unix_s) {
  std::vector<auth::RootKey> keys;
  if (!config.keys_dir.empty()) {
    auto files = cli::read_key_directory(config.keys_dir);
    if (!files) return fail(Code::Malformed, "auth.keys_dir: " + files.error().message);
    for (cli::KeyFile& file : *files) keys.push_back(std::move(file.key));
    return make_keyring(std::move(keys), config);
  }
  std::array<std::byte, auth::Secret::kBytes> secret{};
  random.fill(secret);
  auto key = auth::make_root_key(secret, now_unix_s);
  if (!key) return fail(key.error());
  keys.push_back(std::move(*key));
  return make_keyring(std::move(keys), config);
}

base::Result<KeyringPtr> with_deny_list(const auth::Keyring& current,
                                        const kit::AuthConfig& config) {
  return make_keyring({current.keys().begin(), current.keys().end()}, config);
}

base::Result<std::string> mint_admin_token(const auth::Keyring& keyring, platform::Random& random,
                                           std::int64_t now_unix_s) {
  std::array<std::byte, auth::kNonceBytes> nonce{};
  random.fill(nonce);
  auto token = auth::mint_token(keyring, {}, nonce, now_unix_s, auth::TenantChoice::Any);
  if (!token) return fail(token.error());
  return token->text();
}

base::Result<std::shared_ptr<const platform::TlsServer>> load_tls(
    const kit::TlsConfig& config, const platform::TlsServer* previous) {
  if (!config.enabled()) return nullptr;
  const auto named = [](const std::string& path, const base::Error& why) {
    return fail(why.code, path + ": " + why.message);
  };
  auto certificates = platform::posix::read_small_file(config.cert_path, kPemFileBytes);
  if (!certificates) return named(config.cert_path, certificates.error());
  auto key = cli::read_secret_file(config.key_path, kPemFileBytes, cli::kStrangers);
  if (!key) return named(config.key_path, key.error());
  auto made = platform::TlsServer::make({std::move(*certificates), std::move(*key)}, previous);
  if (!made) return named(config.cert_path, made.error());
  return made;
}

namespace {

base::Result<std::shared_ptr<const platform::TlsClient>> trust_in(const kit::TlsConfig& config) {
  if (config.ca_path.empty()) return platform::TlsClient::make().value_or(nullptr);
  const auto text = platform::posix::read_small_file(config.ca_path, kPemFileBytes);
  if (!text) return fail(text.error().code, config.ca_path + ": " + text.error().message);
  auto made = platform::TlsClient::trusting(*text);
  if (!made) return fail(made.error().code, config.ca_path + ": " + made.error().message);
  return made;
}

}  // namespace

base::Result<std::shared_ptr<const platform::TlsClient>> load_trust(const Selection& selection,
                                                                    const config::Config& config) {
  const auto says_whom = [&config](const ServiceEntry* entry) {
    return !entry->kind->settings(config)->tls.ca_path.empty();
  };
  const ServiceEntry* chosen = nullptr;
  for (const ServiceEntry* entry : selection) {
    if (!entry->kind->dials) continue;
    if (chosen == nullptr || (!says_whom(chosen) && says_whom(entry))) chosen = entry;
  }
  if (chosen == nullptr) return nullptr;
  auto trust = trust_in(chosen->kind->settings(config)->tls);
  if (trust) return trust;
  return fail(trust.error().code,
              std::string(chosen->kind->name) + ".tls: " + trust.error().message);
}

}  // namespace ron::app
