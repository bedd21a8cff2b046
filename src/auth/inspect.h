// What may be shown of a token: everything but the signature. Needs no key and verifies nothing.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "auth/keyring.h"
#include "auth/macaroon.h"
#include "base/result.h"

namespace ron::auth {

// Texts of the token, safe for a terminal: bytes outside printable ASCII are written \xNN.
struct Inspection {
  struct Line {
    std::string text;
    bool understood = false;  // false: every service refuses the token because of it
  };
  std::optional<TokenIdentifier> issued;  // none when the identifier is not one of ours
  std::string identifier;
  std::string tenant;  // for whom it acts, for people; empty when it is not one of ours
  std::string location;
  std::vector<Line> caveats;
  std::string fingerprint;
};

Inspection inspect(const Macaroon& token);
// Malformed when the text is not a token.
base::Result<Inspection> inspect_text(std::string_view token_text);
// One `name: value` per line, each ended by a newline.
std::string print(const Inspection& inspection);

}  // namespace ron::auth
