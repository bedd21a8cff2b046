#include "app/doctor_files.h"

#include <algorithm>
#include <utility>

#include "app/doctor.h"
#include "app/keys.h"
#include "base/rfc3339.h"
#include "cli/key_files.h"
#include "platform/posix/files.h"
#include "platform/posix/random.h"
#include "services/kit/capability_gate.h"

namespace ron::app {
namespace {

namespace files = platform::posix;
using files::PathKind;
using Level = Finding::Level;

std::string parent_of(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

bool has_keys(const std::string& directory) {
  const auto names = files::list_directory(directory);
  return names && std::ranges::any_of(
                      *names, [](const std::string& name) { return name.ends_with(".key"); });
}

void look_at_keyring(const kit::AuthConfig& auth, std::int64_t now, Findings& out) {
  const auto is_private = cli::check_key_directory(auth.keys_dir);
  if (!is_private && files::path_kind(auth.keys_dir) == PathKind::Directory) {
    out.push_back({Level::Fail, "keys", is_private.error().message});
    return;
  }
  files::SystemRandom random;
  const auto keyring = load_keyring(auth, random, now);
  if (!keyring) {
    out.push_back({Level::Fail, "keys", keyring.error().message,
                   "ron key gen --keys DIR makes a usable directory"});
    return;
  }
  const auth::RootKey& active = (*keyring)->active();
  if (active.not_after_unix_s && *active.not_after_unix_s <= now) {
    out.push_back(
        {Level::Fail, "keys",
         "the newest key " + active.id + " ended " + base::print_rfc3339(*active.not_after_unix_s),
         "run ron key gen --keys " + auth.keys_dir});
    return;
  }
  out.push_back({Level::Ok, "keys",
                 std::to_string((*keyring)->keys().size()) + " usable, active " + active.id});
}

void look_at_keys(const ServeOptions& options, const kit::AuthConfig& auth, bool amnesia,
                  std::int64_t now, Findings& out) {
  if (!auth.keys_dir.empty()) return look_at_keyring(auth, now, out);
  if (amnesia) {
    out.push_back({Level::Warn, "keys", "auth.keys_dir is not set: tokens end with the process",
                   "run ron key gen --keys DIR and set auth.keys_dir"});
    return;
  }
  const DataDirectory directory{options.data_dir};
  const bool there = files::path_kind(directory.keys()) == PathKind::Directory;
  const bool is_private = there && cli::check_key_directory(directory.keys()).has_value();
  if (there && (!is_private || has_keys(directory.keys()))) {
    return look_at_keyring(directory.auth(auth), now, out);
  }
  out.push_back({Level::Ok, "keys", "in the data directory, made by the first start"});
}

void look_at_tls(const kit::ServiceKind& front, const config::Config& config, Findings& out) {
  const auto tls = load_tls(front.settings(config)->tls, nullptr);
  if (tls) return;
  out.push_back({Level::Fail, "tls", std::string(front.name) + ".tls: " + tls.error().message});
}

void look_at_trust(const Selection& services, const config::Config& config, Findings& out) {
  const auto trust = load_trust(services, config);
  if (!trust) out.push_back({Level::Fail, "tls", trust.error().message});
}

void look_at_token_out(const std::string& path, Findings& out) {
  if (path.empty()) return;
  const std::string directory = parent_of(path);
  const bool usable = files::path_kind(path) != PathKind::Directory &&
                      files::path_kind(directory) == PathKind::Directory &&
                      files::can_write_directory(directory);
  if (usable) return;
  out.push_back({Level::Fail, "token", "--token-out: '" + path + "' cannot be written",
                 "name a file in a directory of this user"});
}

}  // namespace

std::string existing_part(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  while (files::path_kind(path) == PathKind::Nothing && path != "." && path != "/") {
    path = parent_of(path);
  }
  return path;
}

bool look_at_directory(const std::string& key, const std::string& path, Findings& out) {
  const std::string there = existing_part(path);
  if (files::path_kind(there) != PathKind::Directory) {
    out.push_back({Level::Fail, "data", key + ": '" + there + "' is not a directory",
                   "name another one with " + key});
    return false;
  }
  if (!files::can_write_directory(there)) {
    out.push_back({Level::Fail, "data", key + ": this user may not write to '" + there + "'",
                   "change its owner, or name another one with " + key});
    return false;
  }
  return true;
}

Findings examine_files(const ServeOptions& options, const config::Config& config,
                       std::int64_t now_unix_s) {
  Findings out;
  kit::AuthConfig auth = *config.get(kit::auth_section());
  const DataDirectory directory{options.data_dir};
  const bool amnesiac = is_amnesiac(options.services, config);
  if (amnesiac || look_at_directory("--data", directory.path, out)) {
    for (const ServiceEntry* entry : options.services) {
      entry->examine_files(config, directory.of(entry->kind->name), out);
    }
  }
  const auto denied = kit::parse_deny_list(auth.deny);
  if (!denied) out.push_back({Level::Fail, "keys", denied.error().message});
  auth.deny = {};  // told already
  look_at_keys(options, auth, amnesiac, now_unix_s, out);
  look_at_token_out(options.token_out, out);
  look_at_tls(front(options.services), config, out);
  look_at_trust(options.services, config, out);
  return out;
}

}  // namespace ron::app
