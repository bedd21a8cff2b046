// The log of a server, read over HTTP and held against the same rules as one on disk.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "chain/log_verifier.h"
#include "cli/session.h"
#include "platform/task.h"

namespace ron::cli {

// Problems are complained of. `vkey` is what checkpoints are verified with; an empty one is
// replaced by the server's own, which is noted. Of a pruned log the state is not replayed: the
// rules that need it, and the states that checkpoints sign, are checked on disk only, which is
// noted as well. Cancel-safe.
platform::Task<base::Result<chain::LogVerdict>> verify_over_http(
    Session* session, std::string* vkey, const std::vector<chain::KeptNote>* kept);

}  // namespace ron::cli
