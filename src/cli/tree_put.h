// `ron put PATH --name NAME`: a directory as a tree, a file or standard input as an object, under a
// name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "catalog/name.h"
#include "cli/client_options.h"
#include "cli/tree_walk.h"

namespace ron::cli {

struct PutNamed {
  std::string path;  // a directory, a file or `-`
  catalog::Name name;
  std::string type;  // of a file; empty: by its ending
  std::string spool;
  // The version the name must be at, 0 for none; otherwise the one it was at when this began.
  std::optional<std::uint64_t> if_version;
  bool times = false;   // also when files were modified
  bool resend = false;  // also what the server has
  bool resume = true;
  bool allow_skipped = false;  // what a tree cannot hold is left out and is no failure
  TreeWalk::Links links = TreeWalk::Links::Keep;
};
// The exit code. Blocks.
int put_named(const ClientOptions& options, const PutNamed& what);

}  // namespace ron::cli
