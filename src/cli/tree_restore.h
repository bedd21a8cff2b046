// Restoring a tree: every entry below a directory, files verified and under their names only when
// they are whole. Nothing is written anywhere else (platform/posix/local_tree.h), whatever the
// manifest says and whatever is there. What is there with the right bytes is kept.
//
// A file that is not whole yet stands beside its place, under a name that no entry of the tree has
// and that nothing else has on the disk. A later run continues it; once everything is restored,
// what interrupted runs have left beside the tree's files is removed.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "catalog/manifest.h"
#include "cli/in_order.h"
#include "cli/session.h"
#include "platform/posix/local_tree.h"
#include "platform/task.h"

namespace ron::cli {

// The restore of one command, while it runs. One executor; the session and the entries outlive it.
// Memory is that of the files in flight, each at most a part or a window of pieces, and the names
// of one batch.
class TreeRestore {
 public:
  struct Counts {
    std::uint64_t entries = 0;  // restored or kept
    std::uint64_t fetched = 0;  // files
    std::uint64_t kept = 0;     // files
  };

  // `prefix` is the directory within the tree that becomes `to`; empty: all of it.
  TreeRestore(Session& session, std::shared_ptr<const platform::posix::LocalTree> to,
              std::string prefix, bool sync);

  // Complains of every entry that could not be restored. Cancel-safe: what is there is whole, and
  // another run goes on from it.
  platform::Task<Counts> run(std::span<const catalog::ManifestEntry> entries);

  // Paths of entries, or of directories they are in, that look like those of drafts.
  using Taken = std::set<std::string, std::less<>>;

 private:
  // An entry that waits for its name.
  struct Draft {
    const catalog::ManifestEntry* entry = nullptr;
    std::string path;   // below the directory
    std::string draft;  // of a file; empty: nothing is left to do
  };
  struct Fetched {
    Draft draft;
    bool kept = false;
    base::Result<void> done;
  };
  struct Published {
    base::Result<void> synced;
    std::vector<std::pair<std::string, base::Error>> failures;  // by path
  };
  using Batch = std::vector<Draft>;

  [[nodiscard]] std::string path_of(const catalog::ManifestEntry& entry) const;
  [[nodiscard]] Taken taken_by(std::span<const catalog::ManifestEntry> entries) const;
  platform::Task<void> remove_leftovers(std::span<const catalog::ManifestEntry> entries);
  platform::Task<Fetched> restore(const catalog::ManifestEntry* entry);
  platform::Task<base::Result<void>> fetch(const catalog::TreeFile* file, const Draft* draft);
  platform::Task<base::Result<void>> fetch_large(const catalog::TreeFile* file, const Draft* draft);
  platform::Task<void> take_one();
  platform::Task<void> flush();
  platform::Task<void> take_published();
  static Published publish(const platform::posix::LocalTree& to, const Batch& batch,
                           const Taken& taken, bool sync);

  Session& session_;
  const std::shared_ptr<const platform::posix::LocalTree> to_;
  const std::string prefix_;
  const bool sync_;
  Counts counts_;
  Batch batch_;            // at most kBatch
  bool given_up_ = false;  // nobody answers
  bool has_failed_ = false;
  std::shared_ptr<const Taken> taken_ = std::make_shared<const Taken>();
  InOrder<Fetched> fetching_;
  InOrder<base::Result<Published>> publishing_;
};

}  // namespace ron::cli
