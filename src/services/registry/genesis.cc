#include "services/registry/genesis.h"

#include <utility>
#include <vector>

#include "services/kit/key_file.h"
#include "volume/files.h"

namespace ron::registry {
namespace {

using base::Code;
using base::fail;
using base::Result;
using platform::Task;

Task<Result<void>> write_text(platform::Disk* disk, std::string directory, std::string name,
                              std::string text) {
  return volume::replace_file(disk, std::move(directory), std::move(name), text);
}

std::string signer_name(std::size_t index) {
  return std::string("signer-") + static_cast<char>('a' + index);
}

// The public file comes last: where it is, both are.
Task<Result<chain::Signer>> load_or_make(platform::Disk* disk, platform::Random* random,
                                         std::string directory, std::string name) {
  const auto text = co_await kit::read_small_text(disk, directory + "/" + name + ".pub");
  if (text) {
    const auto key = auth::parse_public_key(*text);
    if (!key) co_return fail(key.error().code, name + ".pub: " + key.error().message);
    co_return chain::make_signer(std::move(name), *key);
  }
  if (text.error().code != Code::NotFound) co_return fail(text.error());
  const auto key = kit::new_signing_key(*random);
  if (!key) co_return fail(key.error());
  auto secret = key->pem();
  if (!secret) co_return fail(secret.error());
  auto written = co_await write_text(disk, directory, name + ".pem", std::move(*secret));
  if (!written) co_return fail(std::move(written.error()));
  auto open = auth::public_pem(key->public_key());
  if (!open) co_return fail(open.error());
  written = co_await write_text(disk, directory, name + ".pub", std::move(*open));
  if (!written) co_return fail(std::move(written.error()));
  co_return chain::make_signer(std::move(name), key->public_key());
}

}  // namespace

Task<Result<auth::SigningKey>> load_checkpoint_key(platform::Disk* disk, platform::Random* random,
                                                   std::string directory) {
  return kit::load_or_make_key(disk, random, std::move(directory), std::string(kCheckpointKeyName));
}

Task<Result<chain::SignerSet>> make_first_signers(platform::Disk* disk, platform::Random* random,
                                                  std::string directory) {
  const std::string folder = directory + "/" + std::string(kSignersName);
  auto made = co_await disk->make_directory(folder);
  if (!made) co_return fail(std::move(made.error()));
  auto named = co_await disk->sync_directory(directory);
  if (!named) co_return fail(std::move(named.error()));
  std::vector<chain::Signer> signers;
  for (std::size_t i = 0; i < kFirstSigners; ++i) {
    auto signer = co_await load_or_make(disk, random, folder, signer_name(i));
    if (!signer) co_return fail(std::move(signer.error()));
    signers.push_back(std::move(*signer));
  }
  co_return chain::make_signer_set(kFirstThreshold, std::move(signers));
}

Result<chain::SignerSet> make_lost_signers(platform::Random& random) {
  std::vector<chain::Signer> signers;
  for (std::size_t i = 0; i < kFirstSigners; ++i) {
    const auto key = kit::new_signing_key(random);
    if (!key) return fail(key.error());
    signers.push_back(chain::make_signer(signer_name(i), key->public_key()));
  }
  return chain::make_signer_set(kFirstThreshold, std::move(signers));
}

}  // namespace ron::registry
