// DeepVerifier: checks the log again from the last checkpoint on, signatures included: chain,
// times, changes and quorum of every version, in slices that leave the cores to others.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "chain/state.h"
#include "observe/log.h"
#include "platform/host.h"
#include "platform/task.h"
#include "runtime/broadcast.h"
#include "runtime/shutdown.h"
#include "runtime/watch.h"
#include "services/registry/config.h"
#include "services/registry/events.h"
#include "services/registry/store.h"

namespace ron::registry {

using SettingsWatch = runtime::Watch<std::shared_ptr<const RegistryConfig>>;

struct DeepVerifierParts {
  platform::Host host;
  runtime::Topology* topology;
  Store* store;
  runtime::Broadcast<Committed>* committed;
  SettingsWatch* settings;
  observe::Log log;
};

class DeepVerifier {
 public:
  explicit DeepVerifier(DeepVerifierParts parts);
  DeepVerifier(const DeepVerifier&) = delete;
  DeepVerifier& operator=(const DeepVerifier&) = delete;

  // Until stopped. What it finds wrong stays wrong: it says so and rests.
  platform::Task<void> run(runtime::Shutdown shutdown);

  // Any core. Versions below this were verified since the start, as far as they are behind the
  // checkpoint it began with.
  [[nodiscard]] std::uint64_t verified_below() const noexcept { return verified_below_.load(); }
  [[nodiscard]] bool found_damage() const noexcept { return found_damage_.load(); }
  // All that the start found was verified: only then may the log be vouched for.
  [[nodiscard]] bool is_sound() const noexcept {
    return !found_damage() && verified_below() >= found_below_;
  }
  // Before run(): versions below this were there at the start.
  void set_found_below(std::uint64_t version) noexcept { found_below_ = version; }

 private:
  // What one slice came to.
  struct Slice {
    chain::State state;
    std::optional<base::Error> wrong;
  };

  platform::Task<base::Result<chain::State>> begin();
  platform::Task<base::Result<Slice>> verify(chain::State state);
  [[nodiscard]] base::Duration rest_after(base::Duration took, bool is_busy) const;
  void report(std::uint64_t version, const base::Error& why);

  DeepVerifierParts parts_;
  runtime::Counter& failures_;
  std::uint64_t found_below_ = 0;  // versions that were there at the start
  std::atomic<std::uint64_t> verified_below_ = 0;
  std::atomic<bool> found_damage_ = false;
};

}  // namespace ron::registry
