// One GET for a command that has nothing else to do meanwhile.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "base/units.h"
#include "cli/server_url.h"
#include "platform/tls.h"

namespace ron::cli {

struct FetchLimits {
  base::Duration timeout = std::chrono::seconds(5);
  std::uint64_t body_bytes = 16 * base::kMiB;
};

// The body of `GET target` from that server, on a thread and loop of its own. UpstreamFail for any
// status but 200, otherwise the errors of cli::Server; all name the server. Blocks.
base::Result<std::string> fetch(const ServerUrl& server,
                                const std::shared_ptr<const platform::TlsClient>& tls,
                                const std::string& target, const FetchLimits& limits = {});

}  // namespace ron::cli
