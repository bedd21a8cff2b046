#include "services/kit/key_file.h"

#include <array>
#include <utility>

#include "services/kit/capability_gate.h"
#include "volume/files.h"

namespace ron::kit {

using base::Code;
using base::fail;
using base::Result;
using platform::Task;

std::string keys_directory(const config::Config& config, const std::string& service_directory) {
  std::string configured = config.get(auth_section())->keys_dir;
  if (!configured.empty()) return configured;
  return service_directory.substr(0, service_directory.rfind('/') + 1) + "keys";
}

Result<auth::SigningKey> new_signing_key(platform::Random& random) {
  std::array<std::byte, auth::SigningKey::kSeedBytes> seed{};
  random.fill(seed);
  return auth::SigningKey::from_seed(seed);
}

Task<Result<std::string>> read_small_text(platform::Disk* disk, std::string path) {
  auto file = co_await disk->open(path, {platform::OpenMode::ReadExisting, false});
  if (!file) co_return fail(file.error().code, path + ": " + file.error().message);
  auto bytes = co_await (*file)->read_at(0, base::Buffer(auth::kMaxPemBytes));
  if (!bytes) co_return fail(bytes.error().code, path + ": " + bytes.error().message);
  co_return std::string(base::as_text(bytes->view()));
}

Task<Result<auth::SigningKey>> load_or_make_key(platform::Disk* disk, platform::Random* random,
                                                std::string directory, std::string name) {
  const std::string path = directory + "/" + name;
  const auto text = co_await read_small_text(disk, path);
  if (text) {
    auto key = auth::SigningKey::from_pem(*text);
    if (!key) co_return fail(key.error().code, path + ": " + key.error().message);
    co_return std::move(*key);
  }
  if (text.error().code != Code::NotFound) co_return fail(text.error());
  auto key = new_signing_key(*random);
  if (!key) co_return fail(key.error());
  const auto secret = key->pem();
  if (!secret) co_return fail(secret.error());
  const auto written =
      co_await volume::replace_file(disk, std::move(directory), std::move(name), *secret);
  if (!written) co_return fail(written.error().code, path + ": " + written.error().message);
  co_return std::move(*key);
}

}  // namespace ron::kit
