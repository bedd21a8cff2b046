// `ron ls NAME[/path]` and `ron diff NAME@3 NAME@4`: trees without their files.
#pragma once

#include <string>

#include "catalog/manifest.h"
#include "catalog/manifest_diff.h"
#include "cli/client_options.h"

namespace ron::cli {

struct ListTree {
  std::string what;        // as tree_ref.h has it
  bool is_long = false;    // kind, size, time and address as well
  bool recursive = false;  // every entry with its path
  bool json = false;       // the entries of the manifest, one per line
};
// The exit code. Blocks, as all commands do.
int list_tree(const ClientOptions& options, const ListTree& what);

struct DiffTrees {
  std::string before;
  std::string after;
  bool json = false;
};
// 0 if they are the same, 1 if they differ, 2 if that cannot be told, as diff(1).
int diff_trees(const ClientOptions& options, const DiffTrees& what);

// One line of each, for people.
std::string entry_line(const catalog::ManifestEntry& entry, std::string_view shown, bool is_long);
std::string change_line(const catalog::TreeChange& change);

}  // namespace ron::cli
