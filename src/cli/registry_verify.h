// `ron registry verify`: whether a log holds: that of a server, of a data directory without one, or
// the one version a proof file is of. Each returns an exit code, 0 only if everything agrees, and
// blocks.
#pragma once

#include <string>
#include <vector>

#include "cli/client_options.h"

namespace ron::cli {

struct VerifyPlan {
  std::string vkey;                 // empty: the log's own, which is said
  std::vector<std::string> kept{};  // files with checkpoints that somebody kept
  bool json = false;
};

int registry_verify_server(const ClientOptions& options, const VerifyPlan& plan);
int registry_verify_data(const ClientOptions& options, const std::string& data,
                         const VerifyPlan& plan);
int registry_verify_proof(const std::string& file, const VerifyPlan& plan);

}  // namespace ron::cli
