// Capabilities: from the text in an Authorization header to a decision about one request.
//
// Pure functions on immutable values, callable from any thread; the caller brings time and
// randomness. Errors: Unauthorized when there is no token, it is garbled, its signature or key is
// not ours, or it has expired; Forbidden when it is genuine but a caveat does not hold or is not
// understood; RevokedKey when the token or its key is on the deny list. No message quotes a token.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "auth/grant.h"
#include "auth/keyring.h"
#include "auth/macaroon.h"
#include "base/result.h"

namespace ron::auth {

// The location of every token of ours. Locations are not signed, so any other value is refused:
// otherwise a token would have many spellings.
inline constexpr std::string_view kTokenLocation = "ron";

// A genuine token and what it grants, independent of any request. May be cached as long as the
// keyring it was verified with is the current one: a new snapshot may revoke it. An expiry of its
// key is part of the grant.
struct VerifiedToken {
  Grant grant;
  std::string key_id;
  std::string token_id;
  std::string fingerprint;
};

// What a handler may know about the caller once a request was permitted.
struct Capability {
  std::optional<std::string> tenant;
  ScopeSet scopes;
  std::optional<std::uint64_t> max_bytes;
  std::optional<std::int64_t> expires_unix_s;
  std::string token_id;
  std::string fingerprint;
};

// The token of `Bearer <token>`, the scheme in any case; a view into `value`.
base::Result<std::string_view> parse_authorization_header(std::string_view value);

base::Result<VerifiedToken> verify_token(const Keyring& keyring, std::string_view bearer_text);
base::Result<> permits(const VerifiedToken& token, const Request& request);
Capability capability_of(const VerifiedToken& token);

// The three above in one step.
base::Result<Capability> authorize(const Keyring& keyring, std::string_view bearer_text,
                                   const Request& request);

// For which tenant a new token acts: the one its caveats name, else none; or any, which its holder
// names with a caveat of its own. The latter is for operators.
enum class TenantChoice : std::uint8_t { Fixed, Any };

// A token of the active key under these caveats; without any it grants everything that needs no
// tenant. `nonce` must be fresh random bytes. Malformed for a caveat that would not parse, for two
// different tenants, and for a tenant besides TenantChoice::Any; RevokedKey when the active key is
// denied or past its not_after.
base::Result<Macaroon> mint_token(const Keyring& keyring, std::span<const Caveat> caveats,
                                  std::span<const std::byte, kNonceBytes> nonce,
                                  std::int64_t now_unix_s,
                                  TenantChoice choice = TenantChoice::Fixed);
// `token` under more caveats; needs no key. Malformed for a caveat that would not parse; Forbidden
// for a tenant the token cannot act for, since every server would refuse the result.
base::Result<Macaroon> attenuate_token(const Macaroon& token, std::span<const Caveat> caveats);

}  // namespace ron::auth
