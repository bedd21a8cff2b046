#include "auth/capability.h"

#include <algorithm>
#include <utility>

namespace ron::auth {
namespace {

using base::Code;
using base::fail;
using base::Result;

constexpr std::string_view kScheme = "bearer";

bool is_token_text(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '+' || c == '/' || c == '=';
  });
}

bool has_scheme(std::string_view value) {
  return value.size() > kScheme.size() && value[kScheme.size()] == ' ' &&
         std::ranges::equal(value.substr(0, kScheme.size()), kScheme, [](char got, char want) {
           return got == want || (got >= 'A' && got <= 'Z' && got - 'A' + 'a' == want);
         });
}

std::unexpected<base::Error> unauthorized(const char* why) { return fail(Code::Unauthorized, why); }

// Every ancestor counts: a holder changes the fingerprint by attenuating, but not those before it.
bool is_denied(const DenyList& denied, const Macaroon& token, const RootKey& key,
               const std::string& token_id) {
  if (denied.token_ids.contains(token_id)) return true;
  if (denied.fingerprints.empty()) return false;
  const auto ancestors = token.lineage(key.secret.bytes());
  // Empty means a hash failed; what cannot be checked is refused.
  return ancestors.empty() || std::ranges::any_of(ancestors, [&](const std::string& ancestor) {
           return denied.fingerprints.contains(ancestor);
         });
}

Result<Grant> grant_of(const Macaroon& token, const RootKey& key, Tenancy tenancy) {
  Grant grant = Grant::minted(std::move(tenancy));
  if (key.not_after_unix_s) grant.expire_by(*key.not_after_unix_s);
  for (const std::string& text : token.caveats()) {
    const auto caveat = parse_caveat(text, UnknownScopes::kIgnore);
    if (!caveat) {
      return fail(Code::Forbidden, "the capability carries a caveat that is not understood");
    }
    grant.narrow(*caveat);
  }
  return grant;
}

// What the caveats of a new token say of its tenant.
Result<Tenancy> tenancy_of(std::span<const Caveat> caveats, TenantChoice choice) {
  Tenancy tenancy = choice == TenantChoice::Any ? Tenancy::any() : Tenancy::nobody();
  for (const Caveat& caveat : caveats) {
    const auto* const named = std::get_if<TenantCaveat>(&caveat);
    if (named == nullptr || tenancy == Tenancy::named(named->name)) continue;
    if (tenancy.kind == Tenancy::Kind::Any) {
      return fail(Code::Malformed, "a token for any tenant is minted without a tenant");
    }
    if (tenancy.kind == Tenancy::Kind::Named) {
      return fail(Code::Malformed, "a token acts for one tenant, not for two");
    }
    tenancy = Tenancy::named(named->name);
  }
  return tenancy;
}

// Whether the tenants its caveats name are such that it can act for them. Tokens of other systems
// say nothing of tenants.
Result<> check_tenants(const Macaroon& token) {
  auto identifier = parse_token_identifier(token.identifier());
  if (!identifier) return {};
  return Grant::outlined(std::move(identifier->tenancy), token.caveats()).check_tenant();
}

}  // namespace

Result<std::string_view> parse_authorization_header(std::string_view value) {
  if (!has_scheme(value)) return unauthorized("the Authorization header is not Bearer <token>");
  value.remove_prefix(kScheme.size());
  value.remove_prefix(std::min(value.find_first_not_of(' '), value.size()));
  if (value.size() > kMaxTokenTextBytes || !is_token_text(value)) {
    return unauthorized("the Authorization header is not Bearer <token>");
  }
  return value;
}

Result<VerifiedToken> verify_token(const Keyring& keyring, std::string_view bearer_text) {
  if (bearer_text.empty()) return unauthorized("a capability is needed");
  const auto token = Macaroon::parse_text(bearer_text);
  if (!token) return fail(Code::Unauthorized, token.error().message);
  if (token->location() != kTokenLocation) return unauthorized("the token is not for this system");
  auto identifier = parse_token_identifier(token->identifier());
  if (!identifier) return fail(Code::Unauthorized, identifier.error().message);

  // A revoked key may be gone from the keyring, so this cannot wait for the signature.
  if (keyring.denied().key_ids.contains(identifier->key_id)) {
    return fail(Code::RevokedKey, "the capability's key was revoked");
  }
  const RootKey* key = keyring.find(identifier->key_id);
  if (key == nullptr) return unauthorized("the capability's key is not known");
  if (!token->verify(key->secret.bytes())) {
    return unauthorized("the capability's signature does not verify");
  }
  if (is_denied(keyring.denied(), *token, *key, identifier->token_id)) {
    return fail(Code::RevokedKey, "the capability was revoked");
  }
  auto grant = grant_of(*token, *key, std::move(identifier->tenancy));
  if (!grant) return fail(grant.error());
  return VerifiedToken{.grant = std::move(*grant),
                       .key_id = std::move(identifier->key_id),
                       .token_id = std::move(identifier->token_id),
                       .fingerprint = fingerprint(*token)};
}

Result<> permits(const VerifiedToken& token, const Request& request) {
  return token.grant.covers(request);
}

Capability capability_of(const VerifiedToken& token) {
  return Capability{.tenant = token.grant.tenant,
                    .scopes = token.grant.scopes,
                    .max_bytes = token.grant.max_bytes,
                    .expires_unix_s = token.grant.expires_unix_s,
                    .token_id = token.token_id,
                    .fingerprint = token.fingerprint};
}

Result<Capability> authorize(const Keyring& keyring, std::string_view bearer_text,
                             const Request& request) {
  const auto token = verify_token(keyring, bearer_text);
  if (!token) return fail(token.error());
  if (const auto permitted = permits(*token, request); !permitted) return fail(permitted.error());
  return capability_of(*token);
}

Result<Macaroon> mint_token(const Keyring& keyring, std::span<const Caveat> caveats,
                            std::span<const std::byte, kNonceBytes> nonce, std::int64_t now_unix_s,
                            TenantChoice choice) {
  const RootKey& key = keyring.active();
  if (keyring.denied().key_ids.contains(key.id)) {
    return fail(Code::RevokedKey, "the active key " + key.id + " was revoked");
  }
  if (key.not_after_unix_s && now_unix_s >= *key.not_after_unix_s) {
    return fail(Code::RevokedKey, "the active key " + key.id + " is past its not_after");
  }
  const auto tenancy = tenancy_of(caveats, choice);
  if (!tenancy) return fail(tenancy.error());
  const auto token = Macaroon::mint(
      key.secret.bytes(), print_token_identifier(key.id, nonce, *tenancy), kTokenLocation);
  if (!token) return fail(token.error());
  return attenuate_token(*token, caveats);
}

Result<Macaroon> attenuate_token(const Macaroon& token, std::span<const Caveat> caveats) {
  Macaroon narrower = token;
  for (const Caveat& caveat : caveats) {
    const std::string text = print(caveat);
    const auto parsed = parse_caveat(text, UnknownScopes::kRefuse);
    if (!parsed) return fail(parsed.error());
    auto next = narrower.attenuate(text);
    if (!next) return fail(next.error());
    narrower = std::move(*next);
  }
  if (const auto checked = check_tenants(narrower); !checked) return fail(checked.error());
  return narrower;
}

}  // namespace ron::auth
