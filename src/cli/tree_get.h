// `ron get NAME[@N][/path]`: a tree into a directory, or a single file of it.
#pragma once

#include <string>

#include "cli/client_options.h"

namespace ron::cli {

struct GetNamed {
  std::string what;  // as tree_ref.h has it
  std::string out;   // a directory for a tree; for a file as GetObject has it
  bool sync = true;
  bool force = false;  // links, read-only files and other names of files are replaced too
};
// The exit code. Blocks.
int get_named(const ClientOptions& options, const GetNamed& what);

}  // namespace ron::cli
