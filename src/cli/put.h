// `ron put`: files, trees and standard input into the store, and the list of what they are called
// there.
#pragma once

#include <string>
#include <vector>

#include "cli/client_options.h"

namespace ron::cli {

struct PutFiles {
  std::vector<std::string> arguments;  // files, directories, streams, `-` for standard input
  std::string list;                    // write the lines there; empty: to standard output
  std::string spool = "/tmp";          // where standard input waits until its length is known
  bool resume = true;
  bool allow_skipped = false;  // what is no file in a directory is no failure
  bool follow = false;         // links in directories are read as what they lead to
};

// The exit code. Blocks.
int put_files(const ClientOptions& options, const PutFiles& what);

}  // namespace ron::cli
