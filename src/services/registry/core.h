// Core: what svc-registry can do, whoever asks.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "chain/state.h"
#include "http/stream_places.h"
#include "observe/log.h"
#include "platform/host.h"
#include "platform/task.h"
#include "runtime/broadcast.h"
#include "runtime/mpsc.h"
#include "runtime/permit.h"
#include "runtime/shutdown.h"
#include "runtime/watch.h"
#include "services/registry/checkpointor.h"
#include "services/registry/committer.h"
#include "services/registry/config.h"
#include "services/registry/deep_verifier.h"
#include "services/registry/events.h"
#include "services/registry/signer_keys.h"
#include "services/registry/store.h"
#include "services/registry/views.h"

namespace ron::registry {

// All of it outlives the core.
struct CoreParts {
  platform::Host host;
  runtime::Topology* topology;
  platform::Disk* disk;  // the host's, or memory
  StoreOptions store;
  observe::Log log;
};

// A version as it is kept.
struct StoredVersion {
  chain::Head head;
  std::string bytes;
};

// Made and opened on cores[0], where its tasks run; asked on any core.
class Core {
 public:
  Core(CoreParts parts, std::shared_ptr<const RegistryConfig> config);
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  // Reads what is on disk. True: the log begins with this start. Not cancel-safe.
  platform::Task<base::Result<bool>> open();
  void apply(std::shared_ptr<const RegistryConfig> config);

  // Changes. Each is durable when it is answered. Busy, Timeout, StorageBusy and what the rules
  // say. Cancel-safe: what was handed over may still happen.
  platform::Task<base::Result<Proposal>> propose(base::Value value, Origin origin,
                                                 runtime::Deadline deadline);
  platform::Task<base::Result<Approved>> approve(std::string id, chain::Approval approval,
                                                 Origin origin, runtime::Deadline deadline);
  platform::Task<base::Result<CommittedAs>> commit(std::string id, Origin origin,
                                                   runtime::Deadline deadline);

  // How it was taken back; again, the same. `may_govern`: the capability has registry:govern.
  platform::Task<base::Result<TakenBackBy>> withdraw(std::string id, bool may_govern, Origin origin,
                                                     runtime::Deadline deadline);

  [[nodiscard]] const Views& views() const noexcept { return views_; }
  [[nodiscard]] const Checkpoints& checkpoints() const noexcept { return store_.checkpoints(); }
  [[nodiscard]] Checkpointor& checkpointor() noexcept { return checkpointor_; }
  [[nodiscard]] chain::Tree& tree() noexcept { return store_.tree(); }
  // What checkpoints are verified with.
  [[nodiscard]] std::string vkey() const { return store_.signer().verifier().text(); }
  [[nodiscard]] std::uint64_t first_version() noexcept { return store_.log().first(); }
  // Versions [first, first + count), or fewer, but at least one. Pruned names the checkpoint;
  // NotFound beyond HEAD. Cancel-safe.
  platform::Task<base::Result<std::vector<StoredVersion>>> versions(std::uint64_t first,
                                                                    std::size_t count);
  // The state as of a version that is kept: from the checkpoint before it. Timeout when there are
  // too many versions in between, Busy when bounds::kStatesAtOnce are being made. Cancel-safe.
  platform::Task<base::Result<StatePtr>> state_at(std::uint64_t version,
                                                  runtime::Deadline deadline);
  // A self-contained proof file. Cancel-safe.
  platform::Task<base::Result<std::string>> proof(std::uint64_t version,
                                                  runtime::Deadline deadline);

  // Where work goes that would stall a core.
  [[nodiscard]] platform::BlockingPool& blocking() const noexcept { return parts_.host.blocking; }

  [[nodiscard]] http::StreamPlaces& streams() noexcept { return streams_; }
  [[nodiscard]] runtime::Broadcast<Committed>& committed() noexcept { return committed_; }
  [[nodiscard]] runtime::Broadcast<RegistryEvent>& events() noexcept { return events_; }
  // HEAD for other services of the process.
  [[nodiscard]] runtime::Watch<chain::Head>& updated() noexcept { return updated_; }

  // Bodies of the tasks.
  platform::Task<void> run_committer(runtime::Shutdown shutdown);
  platform::Task<void> run_checkpointor(runtime::Shutdown shutdown);
  platform::Task<void> run_retention(runtime::Shutdown shutdown);
  platform::Task<void> run_verifier(runtime::Shutdown shutdown);
  platform::Task<void> run_publisher(runtime::Shutdown shutdown);
  platform::Task<void> run_config_reloader(runtime::Shutdown shutdown);

  // What is missing for writes, and for reads. Any core.
  [[nodiscard]] std::vector<std::string> missing_for_writes() const;
  [[nodiscard]] bool found_damage() const noexcept { return verifier_.found_damage(); }
  [[nodiscard]] std::uint64_t verified_below() const noexcept { return verifier_.verified_below(); }
  [[nodiscard]] std::int64_t now_ms() const noexcept { return parts_.host.clock.unix_ms(); }
  // Until no quorum is left because keys have expired.
  [[nodiscard]] std::uint64_t signer_expiry_s() const;

 private:
  [[nodiscard]] base::Error pruned(std::uint64_t version);
  base::Result<chain::Signer> signer_for(const chain::State& state, const Proposed& what,
                                         std::string_view id) const;
  // The proposal that was approved, once the signature was verified.
  platform::Task<base::Result<std::shared_ptr<const Proposed>>> verify(ProposalPtr proposal,
                                                                       chain::Approval approval,
                                                                       Origin origin);
  [[nodiscard]] base::Result<void> check_sound() const;
  void count_timeout(const base::Error& why);

  CoreParts parts_;
  SettingsWatch settings_;
  runtime::Broadcast<Committed> committed_;
  runtime::Broadcast<RegistryEvent> events_;
  runtime::Watch<chain::Head> updated_;
  runtime::Mpsc<std::shared_ptr<const RegistryConfig>> cfg_reload_;
  SignerKeys signer_keys_;
  Views views_;
  Store store_;
  Committer committer_;
  DeepVerifier verifier_;
  Checkpointor checkpointor_;
  http::StreamPlaces streams_;
  runtime::Limit states_;  // of the past, being made
  runtime::Counter& timeouts_;
};

}  // namespace ron::registry
