// Caveats as flags of the command line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "auth/caveat.h"
#include "base/result.h"

namespace ron::cli {

// What was given; an empty text means the flag was not.
struct CaveatFlags {
  std::string scope = {};
  std::string tenant = {};
  std::string path_prefix = {};
  std::string method = {};
  std::string expires = {};
  std::string max_bytes = {};
};

// `24h` from now or an RFC 3339 time. Malformed for anything else and for what has passed already.
base::Result<std::int64_t> parse_when(std::string_view text, std::int64_t now_unix_s);

// One caveat per flag that was given. Malformed names the flag.
base::Result<std::vector<auth::Caveat>> caveats_of(const CaveatFlags& flags,
                                                   std::int64_t now_unix_s);

}  // namespace ron::cli
