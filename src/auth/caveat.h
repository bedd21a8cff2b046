// Typed caveats: the conditions a token may carry, as text `key = value` with one space on each
// side.
//
//   scope = storage:write,index:write    tenant = NAME           path_prefix = /o
//   method = GET,HEAD                    expires = RFC 3339      max_bytes = N
//
// Pure values and functions. Anything that is not exactly one of these is Malformed, so that a
// condition we cannot enforce is never taken for one that holds.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "auth/scope.h"
#include "auth/tenancy.h"
#include "base/result.h"

namespace ron::auth {

inline constexpr std::size_t kMaxMethodBytes = 16;
inline constexpr std::size_t kMaxPathPrefixBytes = 1024;

// The request needs one of these scopes. Scopes this build does not know are not in the set.
struct ScopeCaveat {
  ScopeSet scopes;
  friend bool operator==(const ScopeCaveat&, const ScopeCaveat&) = default;
};
// The work is done for and charged to this tenant. The caveat repeats what the token was minted
// for, or narrows a token that was minted for any tenant; on every other token it refuses.
struct TenantCaveat {
  std::string name;
  friend bool operator==(const TenantCaveat&, const TenantCaveat&) = default;
};
// The request path is this one or lies below it.
struct PathPrefixCaveat {
  std::string prefix;
  friend bool operator==(const PathPrefixCaveat&, const PathPrefixCaveat&) = default;
};
// The request method is one of these, compared exactly: GET does not imply HEAD. Sorted, unique.
struct MethodCaveat {
  std::vector<std::string> methods;
  friend bool operator==(const MethodCaveat&, const MethodCaveat&) = default;
};
// The token is good before this second and not from it on.
struct ExpiresCaveat {
  std::int64_t unix_s = 0;
  friend bool operator==(const ExpiresCaveat&, const ExpiresCaveat&) = default;
};
// The request body has at most this many bytes.
struct MaxBytesCaveat {
  std::uint64_t bytes = 0;
  friend bool operator==(const MaxBytesCaveat&, const MaxBytesCaveat&) = default;
};

using Caveat = std::variant<ScopeCaveat, TenantCaveat, PathPrefixCaveat, MethodCaveat,
                            ExpiresCaveat, MaxBytesCaveat>;

base::Result<Caveat> parse_caveat(std::string_view text, UnknownScopes unknown);
// The canonical text. A scope caveat that names no known scope has none and prints without a value,
// which does not parse.
std::string print(const Caveat& caveat);

// A path that means the same to every reader: starts with `/`, printable ASCII, no query or
// fragment, no `.` or `..` segments, no backslash, and no percent-encoded dot, slash or backslash.
// Prefixes are compared with such paths only, since /o/../admin begins with /o and is not below it.
bool is_plain_path(std::string_view path);
// The same of a path that was decoded: other characters than ASCII may stand in it, and what would
// end a path that is still encoded.
bool is_plain_decoded_path(std::string_view path);

}  // namespace ron::auth
