#include "services/kit/capability_gate.h"

#include <utility>

#include "auth/token_cache.h"

namespace ron::kit {

using base::Code;
using base::fail;

const config::Section<AuthConfig>& auth_section() {
  using config::Reload;
  static const config::Section<AuthConfig> section(
      "auth", "capabilities: who may write",
      {config::bool_key("public_reads", &AuthConfig::public_reads, "true", {}, Reload::Hot,
                        "anyone may read; when off, reading needs a capability too"),
       config::text_key("keys_dir", &AuthConfig::keys_dir, "", {}, Reload::Restart,
                        "directory of root keys (*.key); empty: a new key for this run only"),
       config::text_list_key("deny", &AuthConfig::deny, "[]", {}, Reload::Hot,
                             "revoked: token:<32 hex>, key:<id> or fingerprint:<8 hex>")});
  return section;
}

base::Result<auth::DenyList> parse_deny_list(const config::TextList& entries) {
  auth::DenyList list;
  for (const std::string& entry : entries) {
    const std::size_t colon = entry.find(':');
    const std::string kind = entry.substr(0, colon);
    const std::string what = colon == std::string::npos ? "" : entry.substr(colon + 1);
    if (kind == "token") {
      list.token_ids.insert(what);
    } else if (kind == "key") {
      list.key_ids.insert(what);
    } else if (kind == "fingerprint") {
      list.fingerprints.insert(what);
    } else {
      return fail(Code::Malformed, "auth.deny: '" + entry +
                                       "' is not token:<32 hex>, key:<id> or fingerprint:<8 hex>");
    }
  }
  return list;
}

CapabilityGate::CapabilityGate(const platform::Clock& clock,
                               std::shared_ptr<const auth::Keyring> keyring, bool public_reads)
    : clock_(clock), state_(State{std::move(keyring), public_reads}) {}

void CapabilityGate::apply(std::shared_ptr<const auth::Keyring> keyring, bool public_reads) {
  state_.set({std::move(keyring), public_reads});
}

namespace {

// Cryptography once for each token and core.
base::Result<const auth::VerifiedToken*> verify(const std::shared_ptr<const auth::Keyring>& keyring,
                                                std::string_view bearer) {
  thread_local auth::TokenCache tokens;
  return tokens.verify(keyring, bearer);
}

}  // namespace

base::Result<void> CapabilityGate::check(http::Request& request, auth::Access access) const {
  if (access.is_open()) return {};
  const State state = state_.get().value;
  if (access.is_read() && state.public_reads) return {};
  const auto header = request.head->get(http::KnownField::Authorization);
  if (!header)
    return fail(Code::Unauthorized, "this needs a capability: send Authorization: Bearer TOKEN");
  const auto bearer = auth::parse_authorization_header(*header);
  if (!bearer) return fail(bearer.error());
  auth::Request wanted;
  wanted.scope = access.scope();
  wanted.method = request.head->method_text;
  wanted.path = request.path;
  wanted.body_bytes = request.head->content_length;
  wanted.now_unix_s = clock_.unix_ms() / 1000;
  const auto token = verify(state.keyring, *bearer);
  if (!token) return fail(token.error());
  // Who it is stands in the log also when it is not enough.
  const auth::Grant& grant = (*token)->grant;
  request.tenant = grant.tenant.value_or("");
  request.token = (*token)->fingerprint;
  const auto permitted = auth::permits(**token, wanted);
  if (access.full_scope()) {
    wanted.scope = access.full_scope();
    request.grant_full = auth::permits(**token, wanted).has_value();
  }
  if (!permitted && !request.grant_full) return fail(permitted.error());
  if (!grant.max_bytes) return {};
  return request.limit_body(*grant.max_bytes);
}

void CapabilityGate::identify(http::Request& request) const {
  const auto header = request.head->get(http::KnownField::Authorization);
  if (!header) return;
  const auto bearer = auth::parse_authorization_header(*header);
  if (!bearer) return;
  const auto token = verify(state_.get().value.keyring, *bearer);
  if (!token) return;
  auth::Request wanted;
  wanted.method = request.head->method_text;
  wanted.path = request.path;
  wanted.now_unix_s = clock_.unix_ms() / 1000;
  if (!auth::permits(**token, wanted)) return;
  request.tenant = (*token)->grant.tenant.value_or("");
  request.token = (*token)->fingerprint;
}

}  // namespace ron::kit
