// Keys of the people who approve changes of the registry: `ron key gen --signer`, and reading them.
//
// A key is two files: the secret one, PKCS#8 PEM with mode 0600, and beside it the public one,
// whose name ends in `.pub` instead of `.pem`. Both are what the `openssl` command reads and
// writes. A signer's name is that of the public file without `.pub`.
#pragma once

#include <string>

#include "auth/ed25519.h"
#include "base/result.h"
#include "chain/signers.h"
#include "platform/random.h"

namespace ron::cli {

// alice.pem: alice.pub; alice: alice.pub.
std::string public_file_of(const std::string& secret_file);

// Writes a new key to `file` and beside it, and returns what may be said of it. Malformed: no name
// for a signer; PreconditionFailed: one of the files is there. Never replaces a file.
base::Result<std::string> generate_signer(const std::string& name, const std::string& file,
                                          platform::Random& random);

// Errors name the file and never quote it. Malformed when others may read it.
base::Result<auth::SigningKey> read_signing_key(const std::string& file);
// A public file, under the name the file has.
base::Result<chain::Signer> read_signer(const std::string& public_file);

// Whether it holds a signer's key, secret or public.
bool is_signer_file(const std::string& file);
// One line, for `ron key show`; never the secret. The key of a node is shown as such.
base::Result<std::string> show_signer_key(const std::string& file);

}  // namespace ron::cli
