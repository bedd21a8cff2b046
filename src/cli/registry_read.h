// `ron registry head`, `show`, `log`, `state`, `proposals` and `proof`: what the registry says.
// Each returns an exit code and blocks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/client_options.h"

namespace ron::cli {

int registry_head(const ClientOptions& options, bool json);
// A version, a pending proposal by its id, or a descriptor by type/id.
int registry_show(const ClientOptions& options, const std::string& what, bool json);

struct LogRange {
  std::optional<std::uint64_t> from;  // nothing: the latest `limit`
  std::uint64_t limit = 20;
};
int registry_log(const ClientOptions& options, LogRange range, bool json);
int registry_state(const ClientOptions& options, std::optional<std::uint64_t> version, bool json);
int registry_proposals(const ClientOptions& options, bool json);
// Verified with `vkey`, or the key it names itself, before it is written to `out`; empty or `-`:
// standard output.
int registry_proof(const ClientOptions& options, std::uint64_t version, const std::string& out,
                   const std::string& vkey);

}  // namespace ron::cli
