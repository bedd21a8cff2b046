// What of a directory cannot be in a tree, found before anything of it is sent.
//
// A fault that can be skipped is something that a tree has no form for: a link that leads out of
// it, a pipe, a name that is not UTF-8. Any other fault is a failure: a file that cannot be read,
// the keys of a server.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/session.h"
#include "cli/tree_walk.h"
#include "platform/task.h"

namespace ron::cli {

struct TreeFault {
  base::Error error;
  bool can_skip = false;
  bool is_link = false;  // that --follow may store
};
// As far as the walk and the entry's path tell; nothing if it can be in a tree.
std::optional<TreeFault> find_fault(const WalkedFile& file);
// Of a symbolic link that leads to `target`.
std::optional<TreeFault> find_link_fault(const WalkedFile& file, std::string_view target);

// The faults of a whole tree. Keeps the first of each kind for people and counts all.
class TreeFaults {
 public:
  static constexpr std::size_t kMostListed = 20;

  struct Listed {
    std::string shown;
    base::Error error;
  };
  void add(std::string shown, TreeFault fault);

  [[nodiscard]] std::uint64_t skippable() const noexcept { return skippable_.count; }
  [[nodiscard]] std::uint64_t refused() const noexcept { return refused_.count; }
  // Writes a line for each fault that is kept and one for how many more there are. Skippable ones
  // are notes if they are allowed and complaints otherwise.
  void report(Session& session, bool allow_skipped) const;
  // `3 entries cannot be in a tree (--allow-skipped leaves them out, …) and 1 is refused`.
  [[nodiscard]] std::string summary(bool allow_skipped) const;

 private:
  struct Kind {
    std::vector<Listed> first;
    std::uint64_t count = 0;
    std::uint64_t links = 0;  // that --follow may store
  };
  Kind skippable_;
  Kind refused_;
};

// Walks the whole directory. Reads names and links, no file; asks of each file whether it can be
// read. Stops at more entries than a tree may have. Cancel-safe.
platform::Task<TreeFaults> check_tree(Session* session, std::string directory,
                                      TreeWalk::Links links);

std::string count_of(std::uint64_t count, std::string_view one, std::string_view many);

}  // namespace ron::cli
