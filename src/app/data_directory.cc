#include "app/data_directory.h"

#include <algorithm>
#include <utility>

#include "app/keys.h"
#include "auth/capability.h"
#include "cli/key.h"
#include "cli/key_files.h"
#include "platform/posix/files.h"

namespace ron::app {
namespace {

namespace files = platform::posix;

constexpr std::size_t kTokenFileBytes = 64 * base::kKiB;

bool is_admins(const auth::Keyring& keyring, std::string_view text, std::int64_t now_unix_s) {
  while (!text.empty() && text.back() == '\n') text.remove_suffix(1);
  auth::Request wanted;
  wanted.scope = auth::Scope::kStorageAdmin;
  wanted.method = "GET";
  wanted.path = "/";
  wanted.now_unix_s = now_unix_s;
  const auto token = auth::verify_token(keyring, text);
  return token && auth::permits(*token, wanted) && token->grant.is_any_tenants();
}

}  // namespace

kit::AuthConfig DataDirectory::auth(const kit::AuthConfig& config) const {
  kit::AuthConfig effective = config;
  if (effective.keys_dir.empty()) effective.keys_dir = keys();
  return effective;
}

base::Result<bool> prepare(const DataDirectory& directory, const kit::AuthConfig& config,
                           platform::Random& random, std::int64_t now_unix_s) {
  const bool is_first = !files::file_mode(directory.admin_token());
  const auto made = files::make_private_directory(directory.keys());
  if (!made) return base::fail(made.error());
  const auto is_private = cli::check_key_directory(directory.keys());
  if (!is_private) return base::fail(is_private.error());
  if (!config.keys_dir.empty()) return is_first;
  const auto names = files::list_directory(directory.keys());
  if (!names) return base::fail(names.error());
  const auto is_key = [](const std::string& name) { return name.ends_with(".key"); };
  if (std::ranges::any_of(*names, is_key)) return is_first;
  const auto generated = cli::generate_key({.directory = directory.keys()}, random, now_unix_s);
  if (!generated) return base::fail(generated.error());
  return is_first;
}

base::Result<bool> keep_admin_token(const DataDirectory& directory, const auth::Keyring& keyring,
                                    platform::Random& random, std::int64_t now_unix_s) {
  const auto there = files::read_small_file(directory.admin_token(), kTokenFileBytes);
  if (there && is_admins(keyring, *there, now_unix_s)) return false;
  const auto token = mint_admin_token(keyring, random, now_unix_s);
  if (!token) return base::fail(token.error());
  const auto written = files::write_private_file(directory.admin_token(), *token + "\n");
  if (!written) return base::fail(written.error());
  return there.has_value();
}

}  // namespace ron::app
