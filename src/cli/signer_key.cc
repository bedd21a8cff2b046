#include "cli/signer_key.h"

#include <array>
#include <utility>

#include "base/encoding.h"
#include "base/value.h"
#include "chain/fields.h"
#include "cli/key_files.h"
#include "config/value.h"
#include "platform/posix/files.h"

namespace ron::cli {
namespace {

using base::Code;
using base::fail;
using base::Result;
namespace files = platform::posix;

constexpr std::string_view kSecretSuffix = ".pem";
constexpr std::string_view kPublicSuffix = ".pub";
constexpr std::string_view kPem = "-----BEGIN ";
constexpr std::string_view kSecretPem = "-----BEGIN PRIVATE KEY-----";

Result<void> check_name(const std::string& name) {
  if (!name.empty() && name.size() <= chain::kSignerNameChars && chain::is_plain_text(name)) {
    return {};
  }
  return fail(Code::Malformed, "a signer's name has 1 to " +
                                   std::to_string(chain::kSignerNameChars) +
                                   " characters, none of them a control character");
}

Result<void> check_absent(const std::string& path) {
  if (!files::file_mode(path)) return {};
  return fail(Code::PreconditionFailed, "'" + path + "' is there already and is not replaced");
}

Result<auth::SigningKey> new_key(platform::Random& random) {
  std::array<std::byte, auth::SigningKey::kSeedBytes> seed{};
  random.fill(seed);
  return auth::SigningKey::from_seed(seed);
}

Result<auth::PublicKey> read_public_key(const std::string& file) {
  const auto text = files::read_small_file(file, auth::kMaxPemBytes);
  if (!text) return fail(text.error());
  if (text->find(kSecretPem) != std::string::npos) {
    return fail(Code::Malformed,
                "'" + file + "' is a secret key; give the public one, " + public_file_of(file));
  }
  const auto key = auth::parse_public_key(*text);
  if (!key) return fail(Code::Malformed, "'" + file + "': " + key.error().message);
  return *key;
}

}  // namespace

std::string public_file_of(const std::string& secret_file) {
  std::string_view stem = secret_file;
  if (stem.ends_with(kSecretSuffix)) stem.remove_suffix(kSecretSuffix.size());
  return std::string(stem) + std::string(kPublicSuffix);
}

Result<std::string> generate_signer(const std::string& name, const std::string& file,
                                    platform::Random& random) {
  const std::string public_file = public_file_of(file);
  Result<void> done = check_name(name);
  if (done) done = check_absent(file);
  if (done) done = check_absent(public_file);
  if (!done) return fail(std::move(done.error()));
  const auto key = new_key(random);
  if (!key) return fail(key.error());
  const auto secret = key->pem();
  if (!secret) return fail(secret.error());
  const auto open = auth::public_pem(key->public_key());
  if (!open) return fail(open.error());
  done = files::write_private_file(file, *secret);
  if (done) done = files::write_private_file(public_file, *open);
  if (!done) return fail(std::move(done.error()));
  const chain::Signer signer = chain::make_signer(name, key->public_key());
  return "signer " + signer.id + "  " + name + "\npublic key " + base::to_base64(signer.key.bytes) +
         "\nsecret in " + file + ", public in " + public_file + "\n" +
         base::print_json(chain::to_value(signer)) + "\n";
}

Result<auth::SigningKey> read_signing_key(const std::string& file) {
  const auto text = read_secret_file(file, auth::kMaxPemBytes, kAnyoneElse);
  if (!text) return fail(text.error());
  auto key = auth::SigningKey::from_pem(*text);
  if (!key) {
    return fail(Code::Malformed,
                "'" + file + "' is not the secret key of a signer: " + key.error().message);
  }
  return key;
}

Result<chain::Signer> read_signer(const std::string& public_file) {
  const auto key = read_public_key(public_file);
  if (!key) return fail(key.error());
  std::string name = public_file.substr(public_file.rfind('/') + 1);
  if (name.ends_with(kPublicSuffix)) name.resize(name.size() - kPublicSuffix.size());
  const auto good = check_name(name);
  if (!good) return fail(good.error().code, "'" + public_file + "': " + good.error().message);
  return chain::make_signer(std::move(name), *key);
}

bool is_signer_key(std::string_view text) { return text.find(kPem) != std::string_view::npos; }

Result<std::string> show_signer_key(const std::string& file) {
  const auto text = files::read_small_file(file, auth::kMaxPemBytes);
  if (!text) return fail(text.error());
  const bool is_secret = text->find(kSecretPem) != std::string::npos;
  Result<auth::PublicKey> key = auth::PublicKey{};
  if (is_secret) {
    const auto secret = read_signing_key(file);
    if (!secret) return fail(secret.error());
    key = secret->public_key();
  } else {
    key = read_public_key(file);
  }
  if (!key) return fail(key.error());
  const std::string_view name = std::string_view(file).substr(file.rfind('/') + 1);
  if (name == auth::kNodeKeyFile) return "node  public key " + base::to_base64(key->bytes) + "\n";
  return "signer " + chain::signer_id(*key) + "  public key " + base::to_base64(key->bytes) +
         (is_secret ? "  secret" : "  public") + "\n";
}

bool is_signer_file(const std::string& file) {
  const auto text = platform::posix::read_small_file(file, auth::kMaxPemBytes);
  return text && text->contains("-----BEGIN ");
}

}  // namespace ron::cli
