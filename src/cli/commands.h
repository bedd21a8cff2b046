// The commands of this folder as they join the command line. Only their .cc files see CLI11.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace ron::cli {

// What the parsed command line asks for. It runs after parsing, so that a failing command is not
// taken for bad usage.
using Action = std::function<int()>;

// Each adds its commands below `root`; parsing one of them sets `chosen`, which must outlive the
// parse.
void add_transfer_commands(CLI::App& root, Action& chosen);  // put, get
void add_object_commands(CLI::App& root, Action& chosen);    // stat, rm, verify
// name, resolve and providers; ls and diff of trees.
void add_index_commands(CLI::App& root, Action& chosen);
void add_site_commands(CLI::App& root, Action& chosen);  // site add, ls, rm
void add_token_commands(CLI::App& root, Action& chosen);
void add_key_commands(CLI::App& root, Action& chosen);
// pack info, verify, tile and convert: map tiles as files; add, ls and rm: on a server.
void add_pack_commands(CLI::App& root, Action& chosen);
void add_pack_mount_commands(CLI::App& group, Action& chosen);  // the latter, below `pack`
// Below `group`, which runs the registry when none of them is named.
void add_registry_commands(CLI::App& group, Action& chosen);

}  // namespace ron::cli
