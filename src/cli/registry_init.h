// `ron registry init`: begins a log with signers of one's choice, before a server is started.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "chain/change.h"
#include "chain/signers.h"
#include "platform/host.h"
#include "platform/task.h"

namespace ron::cli {

// Writes version 0 into `directory`, made if it is not there; its parent is. PreconditionFailed
// when there is a log already, or a process uses it. Not cancel-safe: do it again.
platform::Task<base::Result<chain::Head>> begin_log(platform::Host host, std::string directory,
                                                    chain::SignerSet signers);

// The same from files with public keys, for the data directory `data`; an exit code. Blocks.
int registry_init(const std::vector<std::string>& public_files, std::uint64_t threshold,
                  const std::string& data);

}  // namespace ron::cli
