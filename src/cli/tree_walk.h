// TreeWalk: the files behind the arguments of a command, in order: arguments as given, directories
// depth first with their names sorted. Holds the names of the directories it is in, not of the
// whole tree. Links given as arguments are followed, and what is neither file nor directory is read
// as a stream; in directories both are skipped, but links are not where a tree is to be kept as it
// is. A directory with the keys or the admin token of a server fails as a whole.
//
// With `Links::Follow`, a link that a tree cannot keep is replaced by the file or directory that it
// leads to. A directory is never entered from inside itself, and a link into the data directory of
// a server, or to a key of one, fails.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/session.h"
#include "platform/posix/local_files.h"
#include "platform/task.h"

namespace ron::cli {

struct WalkedFile {
  enum class Kind : std::uint8_t { File, Stream, Skipped, Failed, Link, EmptyDirectory };
  Kind kind = Kind::File;
  std::string shown;       // as the user would write it
  std::string path;        // to open; empty: standard input
  std::string reason;      // why it is skipped
  base::Error error;       // why it failed
  std::string relative{};  // to the directory that was given; empty: it was given itself
  // Where in `relative` the directory begins that links must not leave: 0, or behind the last link
  // that was followed.
  std::size_t anchor = 0;
};

// One task.
class TreeWalk {
 public:
  // Whether links and empty directories are found as well.
  enum class Find : bool { FilesOnly, Everything };
  enum class Links : bool { Keep, Follow };
  // `-` stands for standard input.
  TreeWalk(Session& session, std::vector<std::string> arguments, Find find = Find::FilesOnly,
           Links links = Links::Keep)
      : session_(session), arguments_(std::move(arguments)), find_(find), links_(links) {}

  // None at the end. Cancel-safe.
  platform::Task<std::optional<WalkedFile>> next();

 private:
  struct Level {
    std::string path;
    std::string shown;
    std::string relative;
    std::vector<platform::posix::LocalEntry> entries;
    std::size_t anchor = 0;
    std::size_t at = 0;
  };
  // A directory that is about to be entered, or an entry of the one that the walk is in.
  struct Place {
    std::string path;
    std::string shown;
    std::string relative;
    std::size_t anchor = 0;
  };
  platform::Task<std::optional<WalkedFile>> next_argument(std::string argument);
  platform::Task<std::optional<WalkedFile>> next_entry();
  platform::Task<std::optional<WalkedFile>> enter(Place place);
  platform::Task<std::optional<WalkedFile>> follow(Place place);

  Session& session_;
  const std::vector<std::string> arguments_;
  const Find find_;
  const Links links_;
  std::size_t argument_ = 0;
  std::vector<Level> levels_;  // as deep as the tree
};

}  // namespace ron::cli
