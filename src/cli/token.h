// `ron token`: making, narrowing and looking at capabilities. Time and randomness come from the
// caller. Nothing here puts a token or a key into an error message.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "auth/capability.h"
#include "auth/caveat.h"
#include "auth/keyring.h"
#include "auth/macaroon.h"
#include "base/result.h"
#include "platform/random.h"

namespace ron::cli {

// Where the signing keys are: one of the two is set.
struct KeySource {
  std::string file;
  std::string directory;
  [[nodiscard]] bool given() const noexcept { return !file.empty() || !directory.empty(); }
};
base::Result<auth::Keyring> load_keyring(const KeySource& source);

// The token in `where`: a file, or `-` for standard input. Nothing named means RON_TOKEN. A token
// given in place of a file name is refused without being repeated.
base::Result<auth::Macaroon> read_token(const std::string& where);
// The same of a text that is there already; `where` it was found is for the error.
base::Result<auth::Macaroon> parse_token(std::string_view text, const std::string& where);

base::Result<auth::Macaroon> mint(const auth::Keyring& keyring,
                                  const std::vector<auth::Caveat>& caveats,
                                  platform::Random& random, std::int64_t now_unix_s,
                                  auth::TenantChoice choice = auth::TenantChoice::Fixed);

// Everything but the secret, one `name: value` per line, and whether it has expired. With keys,
// also whether they made it.
std::string describe(const auth::Macaroon& token, std::int64_t now_unix_s,
                     const auth::Keyring* keyring);

}  // namespace ron::cli
