#include "auth/grant.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace ron::auth {
namespace {

using base::Code;
using base::fail;

struct Narrower {
  Grant& grant;

  void operator()(const ScopeCaveat& c) const { grant.scopes.keep_only(c.scopes); }

  void operator()(const TenantCaveat& c) const {
    if (grant.tenant_refused || grant.tenant == c.name) return;
    if (grant.is_any_tenants()) {
      grant.tenant = c.name;
    } else {
      grant.tenant_refused = true;
      grant.tenant.reset();
    }
  }

  void operator()(const PathPrefixCaveat& c) const {
    const auto at = std::ranges::lower_bound(grant.path_prefixes, c.prefix);
    if (at == grant.path_prefixes.end() || *at != c.prefix)
      grant.path_prefixes.insert(at, c.prefix);
  }

  void operator()(const MethodCaveat& c) const {
    if (!grant.methods) {
      grant.methods = c.methods;
      return;
    }
    std::vector<std::string> both;
    std::ranges::set_intersection(*grant.methods, c.methods, std::back_inserter(both));
    grant.methods = std::move(both);
  }

  void operator()(const ExpiresCaveat& c) const { grant.expire_by(c.unix_s); }

  void operator()(const MaxBytesCaveat& c) const {
    grant.max_bytes = std::min(grant.max_bytes.value_or(c.bytes), c.bytes);
  }
};

// On a segment boundary: /o covers /o and /o/x, not /ox.
bool path_is_below(std::string_view path, std::string_view prefix) {
  if (!path.starts_with(prefix)) return false;
  return path.size() == prefix.size() || prefix.back() == '/' || path[prefix.size()] == '/';
}

}  // namespace

Grant Grant::minted(Tenancy tenancy) {
  Grant grant;
  if (tenancy.kind == Tenancy::Kind::Named) grant.tenant = tenancy.name;
  grant.minted_for = std::move(tenancy);
  return grant;
}

Grant Grant::outlined(Tenancy tenancy, std::span<const std::string> caveats) {
  Grant grant = minted(std::move(tenancy));
  for (const std::string& text : caveats) {
    if (const auto caveat = parse_caveat(text, UnknownScopes::kIgnore)) grant.narrow(*caveat);
  }
  return grant;
}

base::Error body_beyond(std::uint64_t max_bytes) {
  return base::Error(Code::Forbidden, "the body is larger than the capability allows")
      .with("max_bytes", std::to_string(max_bytes));
}

void Grant::narrow(const Caveat& caveat) { std::visit(Narrower{*this}, caveat); }

void Grant::expire_by(std::int64_t unix_s) {
  expires_unix_s = std::min(expires_unix_s.value_or(unix_s), unix_s);
}

base::Result<> Grant::check_tenant() const {
  if (!tenant_refused) return {};
  switch (minted_for.kind) {
    case Tenancy::Kind::Unsaid:
      return fail(Code::Forbidden,
                  "the capability was minted before tenants were fixed when a token is minted, so "
                  "it cannot name one; mint it again: ron token mint --tenant NAME");
    case Tenancy::Kind::Nobody:
      return fail(Code::Forbidden,
                  "the capability was minted without a tenant, and a caveat cannot give it one; "
                  "mint one that has it: ron token mint --tenant NAME");
    case Tenancy::Kind::Named:
    case Tenancy::Kind::Any:
      break;
  }
  return fail(Code::Forbidden, "the capability names two different tenants");
}

base::Result<> Grant::covers(const Request& request) const {
  if (expires_unix_s && request.now_unix_s >= *expires_unix_s) {
    return fail(Code::Unauthorized, "the capability has expired");
  }
  if (const auto checked = check_tenant(); !checked) return checked;
  if (request.scope && !scopes.has(*request.scope)) {
    return fail(Code::Forbidden,
                "the capability lacks the scope " + std::string(name(*request.scope)));
  }
  if (methods && !std::ranges::binary_search(*methods, request.method)) {
    return fail(Code::Forbidden, "the capability does not cover this method");
  }
  if (!path_prefixes.empty()) {
    const bool below_all = is_plain_decoded_path(request.path) &&
                           std::ranges::all_of(path_prefixes, [&](const std::string& prefix) {
                             return path_is_below(request.path, prefix);
                           });
    if (!below_all) return fail(Code::Forbidden, "the capability does not cover this path");
  }
  if (max_bytes && request.body_bytes && *request.body_bytes > *max_bytes) {
    return fail(body_beyond(*max_bytes));
  }
  return {};
}

}  // namespace ron::auth
