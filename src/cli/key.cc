#include "cli/key.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "auth/keyring.h"
#include "base/rfc3339.h"
#include "cli/key_files.h"
#include "cli/signer_key.h"
#include "platform/posix/files.h"

namespace ron::cli {
namespace {

using base::Code;
using base::fail;
namespace files = platform::posix;

std::string describe(const auth::RootKey& key) {
  return "key " + key.id + "  fingerprint " + auth::fingerprint(key);
}

base::Result<void> write_new(const std::string& path, const auth::RootKey& key) {
  if (files::file_mode(path)) {
    return fail(Code::PreconditionFailed, "'" + path + "' is there already and is not replaced");
  }
  return files::write_private_file(path, auth::print_key_file(key));
}

// The keys already there; none in a new directory.
base::Result<std::vector<KeyFile>> open_directory(const std::string& directory) {
  const auto made = files::make_private_directory(directory);
  if (!made) return fail(made.error());
  const auto is_private = check_key_directory(directory);
  if (!is_private) return fail(is_private.error());
  const auto names = files::list_directory(directory);
  if (!names) return fail(names.error());
  const bool is_new =
      std::ranges::none_of(*names, [](const std::string& name) { return name.ends_with(".key"); });
  if (is_new) return std::vector<KeyFile>();
  auto keys = read_key_directory(directory);
  if (keys && keys->size() >= auth::kMaxKeys) {
    return fail(Code::PreconditionFailed, "'" + directory + "' holds " +
                                              std::to_string(keys->size()) +
                                              " keys already; remove those that have ended");
  }
  return keys;
}

// Shortens the life of the older keys. Only after the new key is in place: a crash between the two
// leaves keys that live longer than meant, never a directory without a usable one.
base::Result<std::string> retire(const std::vector<KeyFile>& older, std::int64_t at_unix_s) {
  std::string said;
  for (const KeyFile& each : older) {
    auth::RootKey key = each.key;
    if (key.not_after_unix_s && *key.not_after_unix_s <= at_unix_s) continue;
    key.not_after_unix_s = at_unix_s;
    const auto written = files::write_private_file(each.path, auth::print_key_file(key));
    if (!written) return fail(written.error());
    said += describe(key) + "  ends " + base::print_rfc3339(at_unix_s) + "\n";
  }
  return said;
}

base::Result<std::string> generate_in(const KeyPlan& plan, auth::RootKey key) {
  const auto older = open_directory(plan.directory);
  if (!older) return fail(older.error());
  // The newest key is the active one, so two keys of one second must not tie.
  for (const KeyFile& each : *older) {
    key.created_unix_s = std::max(key.created_unix_s, each.key.created_unix_s + 1);
  }
  const auto written = write_new(plan.directory + "/" + key.id + ".key", key);
  if (!written) return fail(written.error());
  std::string said = describe(key) + "\n";
  if (!plan.retire_older_at_unix_s) return said;
  const auto retired = retire(*older, *plan.retire_older_at_unix_s);
  if (!retired) return fail(retired.error());
  return said + *retired;
}

std::string state_of(const auth::RootKey& key, bool is_active, std::int64_t now) {
  if (key.not_after_unix_s && *key.not_after_unix_s <= now) return "ended";
  return is_active ? "active" : "verifies";
}

// Nothing where no node was started yet.
base::Result<std::string> show_node_of(const std::string& directory) {
  const std::string file = directory + "/" + std::string(auth::kNodeKeyFile);
  if (!files::file_mode(file)) return "";
  return show_signer_key(file);
}

}  // namespace

base::Result<std::string> generate_key(const KeyPlan& plan, platform::Random& random,
                                       std::int64_t now_unix_s) {
  std::array<std::byte, auth::Secret::kBytes> secret{};
  random.fill(secret);
  auto key = auth::make_root_key(secret, now_unix_s);
  if (!key) return fail(key.error());
  key->not_after_unix_s = plan.not_after_unix_s;
  if (!plan.directory.empty()) return generate_in(plan, std::move(*key));
  const auto written = write_new(plan.file, *key);
  if (!written) return fail(written.error());
  return describe(*key) + "\n";
}

base::Result<std::string> show_keys(const std::string& file_or_directory, std::int64_t now_unix_s) {
  std::vector<auth::RootKey> keys;
  std::string node;
  if (files::list_directory(file_or_directory)) {
    const auto shown = show_node_of(file_or_directory);
    if (!shown) return fail(shown.error());
    node = *shown;
    auto all = read_key_directory(file_or_directory);
    if (!all) return fail(all.error());
    for (KeyFile& each : *all) keys.push_back(std::move(each.key));
  } else {
    auto one = read_key_file(file_or_directory);
    if (!one) return fail(one.error());
    keys.push_back(std::move(one->key));
  }
  const auto keyring = keyring_of(std::move(keys), {});
  if (!keyring) return fail(keyring.error());
  std::string out;
  for (const auth::RootKey& key : keyring->keys()) {
    const bool is_active = &key == &keyring->active();
    out += describe(key) + "  created " + base::print_rfc3339(key.created_unix_s) + "  ends ";
    out += key.not_after_unix_s ? base::print_rfc3339(*key.not_after_unix_s) : "never";
    out += "  " + state_of(key, is_active, now_unix_s) + "\n";
  }
  return out + node;
}

}  // namespace ron::cli
