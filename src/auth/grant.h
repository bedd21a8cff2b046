// Grant: what is left of all powers after a list of caveats, and whether that covers a request.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "auth/caveat.h"
#include "base/result.h"

namespace ron::auth {

// What a request asks of a capability. Views must outlive the call only.
struct Request {
  std::optional<Scope> scope;               // none: any good capability will do (private reads)
  std::string_view method;                  // as received; methods are case-sensitive
  std::string_view path;                    // as routed, without the query
  std::optional<std::uint64_t> body_bytes;  // none: not known yet (chunked); the body's reader then
                                            // counts it against the capability's max_bytes
  std::int64_t now_unix_s = 0;
};

// Forbidden: a body is larger than a capability's max_bytes.
base::Error body_beyond(std::uint64_t max_bytes);

// Every caveat of a kind holds: scopes and methods intersect, every path prefix covers, the
// earliest expiry and the smallest max_bytes count. A tenant caveat must name the tenant the token
// was minted for; only a token minted for any tenant gets its tenant from a caveat. The result does
// not depend on the order of caveats, and narrowing never makes covers() accept more. A plain
// value; bounded by the token it came from.
struct Grant {
  ScopeSet scopes = ScopeSet::all();
  Tenancy minted_for = Tenancy::any();
  std::optional<std::string> tenant;  // for whom it acts; none: for no tenant
  bool tenant_refused = false;        // a caveat names a tenant the token cannot act for
  std::optional<std::vector<std::string>> methods;  // sorted, unique; none: every method
  std::vector<std::string> path_prefixes;           // sorted, unique; empty: every path
  std::optional<std::int64_t> expires_unix_s;
  std::optional<std::uint64_t> max_bytes;

  // The grant of a token that carries no caveats yet.
  static Grant minted(Tenancy tenancy);
  // The same with those of its caveats that are understood: to tell people about a token. Deciding
  // needs all of them.
  static Grant outlined(Tenancy tenancy, std::span<const std::string> caveats);

  void narrow(const Caveat& caveat);
  void expire_by(std::int64_t unix_s);

  // Unauthorized once expired (a new token helps), Forbidden when a caveat does not hold.
  [[nodiscard]] base::Result<> covers(const Request& request) const;
  // Forbidden, with what to do about it, when a caveat names a tenant the token cannot act for.
  [[nodiscard]] base::Result<> check_tenant() const;
  // Whether a caveat may still name any tenant.
  [[nodiscard]] bool is_any_tenants() const noexcept {
    return minted_for.kind == Tenancy::Kind::Any && !tenant && !tenant_refused;
  }

  friend bool operator==(const Grant&, const Grant&) = default;
};

}  // namespace ron::auth
