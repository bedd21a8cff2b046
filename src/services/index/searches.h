// Searches: discovery for the whole service. Whom to ask and whom to believe is shared; every core
// has connections of its own.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "auth/ed25519.h"
#include "base/object_id.h"
#include "base/result.h"
#include "platform/host.h"
#include "platform/task.h"
#include "platform/tls.h"
#include "runtime/deadline.h"
#include "runtime/lock.h"
#include "runtime/shutdown.h"
#include "runtime/topology.h"
#include "services/index/breakers.h"
#include "services/index/config.h"
#include "services/index/discovery.h"
#include "services/index/targets.h"
#include "services/index/trust.h"

namespace ron::index {

// All of it outlives it.
struct SearchParts {
  platform::Host host;
  runtime::Topology* topology;
  std::shared_ptr<const platform::TlsClient> tls;  // whom it trusts to be who they say
};

// Made on cores[0]; asked on any core of the host.
class Searches {
 public:
  // The configuration was checked: its URLs and keys are ones.
  Searches(SearchParts parts, const IndexConfig& config);
  Searches(const Searches&) = delete;
  Searches& operator=(const Searches&) = delete;

  // On cores[0].
  void apply(const IndexConfig& config);
  // Nodes that are known besides those of the configuration: this one, and what the registry says.
  void set_own(const auth::PublicKey& node);
  void set_registered(std::set<auth::PublicKey> nodes);

  [[nodiscard]] bool any() const noexcept { return targets_.size() != 0; }
  [[nodiscard]] const TargetList& targets() const noexcept { return targets_; }
  [[nodiscard]] BreakerTable& breakers() noexcept { return breakers_; }
  [[nodiscard]] Trust& trust() noexcept { return trust_; }

  // Discovery::discover, on the core of the caller. Cancel-safe.
  platform::Task<base::Result<Found>> find(base::ObjectId address, runtime::Deadline deadline);
  [[nodiscard]] Discovery& here();

  // Bodies of tasks: keeps a core's connections and closes them in the end; the breaker janitor.
  platform::Task<void> dial(std::size_t core, runtime::Shutdown shutdown);
  platform::Task<void> run_breaker_janitor(runtime::Shutdown shutdown);

 private:
  struct Loop {
    Loop(platform::Executor& executor, const DiscoveryParts& parts, http::ClientSettings settings)
        : home(executor), discovery(parts, std::move(settings)) {}
    platform::Executor& home;
    Discovery discovery;
  };

  void set_trust();

  platform::Host host_;
  TargetList targets_;
  BreakerTable breakers_;
  Trust trust_;
  std::vector<std::unique_ptr<Loop>> loops_;  // of each core

  // What nodes are known from, on cores[0].
  TrustPolicy configured_;
  std::set<auth::PublicKey> own_;
  std::set<auth::PublicKey> registered_;

  mutable runtime::Lock lock_;
  SearchPolicy policy_;  // guarded by lock_
};

}  // namespace ron::index
