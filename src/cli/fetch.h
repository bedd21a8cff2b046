// One GET for a command that has nothing else to do meanwhile.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/units.h"
#include "platform/net.h"

namespace ron::cli {

struct FetchLimits {
  base::Duration timeout = std::chrono::seconds(5);
  std::uint64_t body_bytes = 16 * base::kMiB;
};

// `http://HOST:PORT` with an IP address or localhost; Malformed for anything else.
base::Result<platform::Endpoint> parse_base_url(std::string_view url);

// The body of `GET base_url + target`, on a thread and loop of its own. `base_url` is
// http://HOST:PORT with an IP address or localhost. Malformed for another URL, UpstreamFail for any
// status but 200, otherwise the errors of http::Client; all name the URL. Blocks.
base::Result<std::string> fetch(const std::string& base_url, const std::string& target,
                                const FetchLimits& limits = {});

}  // namespace ron::cli
