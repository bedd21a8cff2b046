// Store: what a registry keeps on disk, and what a start makes of it.
//
// The log is the truth. The journal has the proposals that are pending, the tree the hashes of all
// entries, also of pruned ones, and each checkpoint the state at its version. A start takes the
// newest checkpoint, applies the entries behind it and drops from the journal what they committed.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "auth/ed25519.h"
#include "base/result.h"
#include "chain/frame_log.h"
#include "chain/note.h"
#include "chain/state.h"
#include "chain/tree_files.h"
#include "platform/host.h"
#include "platform/task.h"
#include "services/registry/checkpoints.h"
#include "services/registry/proposal.h"

namespace ron::registry {

struct StoreOptions {
  std::string directory;
  std::string keys;  // the directory with the key for checkpoints and those of the first signers
  std::uint64_t segment_bytes = 0;
  std::optional<chain::SignerSet> signers;  // of a log that begins; nothing: they are made
  bool is_amnesiac = false;                 // no secret is written anywhere
  // What a start or a repair took out of a file. Must not wait.
  std::function<void(std::string_view)> on_trouble;
};

class Store {
 public:
  Store(platform::Host host, platform::Disk* disk, StoreOptions options);
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  // What the files say.
  struct Opened {
    chain::State state;
    Pending pending;
    std::vector<std::pair<std::string, chain::Head>> recent;  // commits by proposal
    std::vector<Withdrawn> withdrawn;                         // lately, the oldest first
    std::vector<std::string> gone;  // committed, and the journal does not say so
    bool is_new = false;            // the log begins with this start
  };
  // Not cancel-safe: a store whose open failed can only be destroyed.
  platform::Task<base::Result<Opened>> open();
  platform::Task<void> close();

  [[nodiscard]] chain::FrameLog& log() noexcept { return log_; }
  [[nodiscard]] chain::FrameLog& journal() noexcept { return journal_; }
  [[nodiscard]] chain::Tree& tree() noexcept { return tree_; }
  [[nodiscard]] Checkpoints& checkpoints() noexcept { return checkpoints_; }
  [[nodiscard]] const Checkpoints& checkpoints() const noexcept { return checkpoints_; }
  // With which checkpoints are signed. Once it is open.
  [[nodiscard]] const chain::NoteSigner& signer() const noexcept { return *signer_; }

 private:
  // Commits of so many versions before the checkpoint are remembered as well.
  static constexpr std::uint64_t kRecentBefore = 4096;

  platform::Task<base::Result<void>> make_directories();
  platform::Task<base::Result<void>> load_key();
  platform::Task<base::Result<void>> check_key_is_not_lost();
  platform::Task<base::Result<void>> replay_log(Opened* opened);
  platform::Task<base::Result<void>> begin_log(Opened* opened);
  base::Result<void> name_signer(const base::ObjectId& log);
  platform::Task<base::Result<void>> open_tree(std::uint64_t size);
  platform::Task<base::Result<void>> rebuild_tree(std::uint64_t size);
  platform::Task<base::Result<void>> replay_journal(Opened* opened);
  base::Result<void> take_entry(const chain::FrameView& frame, Opened* opened,
                                std::optional<std::uint64_t> base);

  platform::Host host_;
  platform::Disk* disk_;
  const StoreOptions options_;
  chain::FrameLog log_;
  chain::FrameLog journal_;
  chain::Tree tree_;
  Checkpoints checkpoints_;
  std::optional<auth::SigningKey> key_;  // until the log's id is known, and it signs
  std::optional<chain::NoteSigner> signer_;
  std::vector<chain::TreeHash> leaves_;  // behind the checkpoint, until the tree has them
};

}  // namespace ron::registry
