// Checkpointor and retention: sign what the log says, keep the state with it, and then remove what
// nobody needs any more.
//
// Nothing is signed before what a start found was verified: a signature is never put under a forged
// version, and what lies behind it is not looked at again. A checkpoint promises less before
// anything is removed: it says below which version entries may be gone, and only when it is durable
// are whole segments below that unlinked. That version is an older checkpoint's, whose state is
// kept, so that what is left can still be verified.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "base/result.h"
#include "chain/state.h"
#include "observe/log.h"
#include "platform/host.h"
#include "platform/task.h"
#include "runtime/mpsc.h"
#include "runtime/shutdown.h"
#include "runtime/watch.h"
#include "services/registry/committer.h"
#include "services/registry/config.h"
#include "services/registry/deep_verifier.h"
#include "services/registry/store.h"
#include "services/registry/views.h"

namespace ron::registry {

// All of it outlives it.
struct CheckpointorParts {
  platform::Host host;
  runtime::Topology* topology;
  Store* store;
  Views* views;
  Committer* committer;
  const DeepVerifier* verifier;
  SettingsWatch* settings;
  observe::Log log;
};

class Checkpointor {
 public:
  Checkpointor(CheckpointorParts parts, std::size_t retention_capacity);
  Checkpointor(const Checkpointor&) = delete;
  Checkpointor& operator=(const Checkpointor&) = delete;

  // Signs when it is time, when so many versions have come, when one is asked for, and at the end.
  platform::Task<void> run(runtime::Shutdown shutdown);
  // Removes what it is told to.
  platform::Task<void> run_retention(runtime::Shutdown shutdown);

  // HEAD is this version: one is due when enough have come since the last. On its executor.
  void note_head(std::uint64_t version) {
    if (version < due_at_) return;
    due_at_ = UINT64_MAX;
    wanted_.set(version + 1);
  }
  // A checkpoint that covers the version, made if need be. Timeout. Any core. Cancel-safe.
  platform::Task<base::Result<CheckpointPtr>> covering(std::uint64_t version,
                                                       runtime::Deadline deadline);

 private:
  struct Prune {
    std::uint64_t below = 0;
  };

  [[nodiscard]] bool is_due(platform::TimePoint last, std::uint64_t wanted) const;
  [[nodiscard]] std::uint64_t next_due() const;
  platform::Task<base::Result<void>> make();
  platform::Task<base::Result<void>> sign(const chain::State* state);
  // Below which version entries may go, given HEAD.
  [[nodiscard]] std::uint64_t prune_point(std::uint64_t head) const;
  void note_failure(const base::Error& why);

  CheckpointorParts parts_;
  runtime::Watch<std::uint64_t> wanted_;        // versions that have to be covered: below this
  runtime::Watch<std::uint64_t> checkpointed_;  // size of the tree of the latest
  runtime::Mpsc<Prune> retention_cmd_;
  std::uint64_t due_at_ = UINT64_MAX;  // the version with which the next one is; nobody knows yet
  observe::LogLimiter trouble_limit_{10'000};
};

}  // namespace ron::registry
