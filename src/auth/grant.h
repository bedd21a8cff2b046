// Grant: what is left of all powers after a list of caveats, and whether that covers a request.
#pragma once

#include <cstdint>
#include <optional>
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
// earliest expiry and the smallest max_bytes count, two different tenants leave nothing. The result
// does not depend on the order of caveats, and narrowing never makes covers() accept more. A plain
// value; bounded by the token it came from.
struct Grant {
  ScopeSet scopes = ScopeSet::all();
  std::optional<std::string> tenant;
  bool tenants_conflict = false;
  std::optional<std::vector<std::string>> methods;  // sorted, unique; none: every method
  std::vector<std::string> path_prefixes;           // sorted, unique; empty: every path
  std::optional<std::int64_t> expires_unix_s;
  std::optional<std::uint64_t> max_bytes;

  void narrow(const Caveat& caveat);
  void expire_by(std::int64_t unix_s);

  // Unauthorized once expired (a new token helps), Forbidden when a caveat does not hold.
  [[nodiscard]] base::Result<> covers(const Request& request) const;

  friend bool operator==(const Grant&, const Grant&) = default;
};

}  // namespace ron::auth
