// Checkpoints: the signed ones on disk, each with a snapshot of the state, and the list of them.
//
// A checkpoint is two files, `<version>.state` and `<version>.note`; the note comes last, so that
// where it is, both are. Notes stay, up to kMost of them; of the snapshots only those that a start
// or the verification of a pruned log needs.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "chain/checkpoint.h"
#include "chain/checkpoint_files.h"
#include "chain/note.h"
#include "chain/snapshot.h"
#include "platform/disk.h"
#include "platform/task.h"
#include "runtime/lock.h"

namespace ron::registry {

struct SignedCheckpoint {
  chain::Checkpoint checkpoint;
  std::string note;
};
using CheckpointPtr = std::shared_ptr<const SignedCheckpoint>;

// Opened and added to by one task at a time; the list is read from any core.
class Checkpoints {
 public:
  static constexpr std::size_t kMost = 4096;        // notes
  static constexpr std::size_t kSnapshotsKept = 2;  // besides the one a pruned log begins with

  // A snapshot of more than `most_bytes` is neither written nor read.
  Checkpoints(platform::Disk* disk, std::string directory,
              std::size_t most_bytes = chain::kMaxSnapshotBytes);

  // What a start goes on from: the newest checkpoint that is whole.
  struct Base {
    CheckpointPtr checkpoint;
    chain::State state;
  };
  // Reads the list, and checks the signature of the one it starts from: `key`'s. Nothing: there is
  // none yet. IntegrityFail: there are some, and none is whole.
  platform::Task<base::Result<std::optional<Base>>> open(auth::PublicKey key);

  // Both files, durably; then it is the latest. Quota when the state is larger than what is read
  // back. Not cancel-safe: do it again.
  platform::Task<base::Result<void>> add(SignedCheckpoint signed_one,
                                         const chain::Snapshot* snapshot);
  // Removes what is not needed any more. `first` is the first version of the log, of which the
  // latest `keep` stay (0: all).
  platform::Task<void> tidy(std::uint64_t first, std::uint64_t keep);

  // Any core. Oldest first.
  [[nodiscard]] std::vector<CheckpointPtr> list() const;
  [[nodiscard]] CheckpointPtr latest() const;
  // Below which version entries may be gone, as any of them says.
  [[nodiscard]] std::uint64_t pruned_below() const;
  // The oldest that covers the version: its tree has it.
  [[nodiscard]] CheckpointPtr covering(std::uint64_t version) const;
  // The newest of at most this version whose snapshot is there.
  [[nodiscard]] CheckpointPtr with_state(std::uint64_t version) const;
  platform::Task<base::Result<chain::Snapshot>> read_snapshot(std::uint64_t version) const;
  // Its first part alone, compared with the checkpoint.
  platform::Task<base::Result<std::string>> read_summary(CheckpointPtr checkpoint) const;

 private:
  struct Item {
    CheckpointPtr checkpoint;
    bool has_state = false;
  };

  platform::Task<base::Result<std::string>> read_file(std::string name, std::size_t most) const;
  platform::Task<base::Result<Base>> restore(CheckpointPtr checkpoint, auth::PublicKey key) const;

  platform::Disk* disk_;
  const std::string directory_;
  const std::size_t most_bytes_;
  mutable runtime::Lock lock_;
  std::vector<Item> items_;  // by version
};

}  // namespace ron::registry
