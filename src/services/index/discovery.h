// Discovery: asks others who has an object. Targets, breakers, hedging and trust put together.
//
//   candidates (breaker closed, begun at another one for every address)
//     → hedge.h → each ask: breaker, try, try again (50 to 100 ms later, at most three times)
//     → records as they come → trust.h → the first quorum of targets with a record that counts
//
// Servers of the static list are asked when nobody else knows anybody.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/object_id.h"
#include "base/result.h"
#include "base/units.h"
#include "catalog/provider_record.h"
#include "http/client.h"
#include "platform/host.h"
#include "platform/task.h"
#include "runtime/deadline.h"
#include "runtime/meter.h"
#include "runtime/retry.h"
#include "services/index/breakers.h"
#include "services/index/hedge.h"
#include "services/index/target.h"
#include "services/index/targets.h"
#include "services/index/trust.h"

namespace ron::index {

// How to search; taken by every search as it is then.
struct SearchPolicy {
  HedgePolicy hedge{};
  base::Duration deadline = std::chrono::milliseconds(1200);
};

struct Found {
  std::vector<catalog::ProviderRecord> records{};  // at least one; of each node the newest
  TargetKind source = TargetKind::Dht;             // of the winner
  std::string winner{};                            // its name
  std::uint32_t latency_ms = 0;                    // how long it took to answer
  bool hedged = false;
  std::uint32_t asked = 0;
};

// What the searches of all cores share. Outlives them.
struct DiscoveryParts {
  platform::Host host;
  runtime::Meters* meters;
  const TargetList* targets;
  BreakerTable* breakers;
  Trust* trust;
};

// One executor: every core has its own.
class Discovery {
 public:
  // The server vouched for by the configuration is found for so long.
  static constexpr base::Duration kStaticTtl = std::chrono::minutes(5);
  static constexpr std::uint32_t kMaxRetries = 3;

  Discovery(DiscoveryParts parts, http::ClientSettings client);
  Discovery(const Discovery&) = delete;
  Discovery& operator=(const Discovery&) = delete;

  // NotFound when those who were asked do not know, BreakerOpen when nobody may be asked, Timeout
  // at the deadline or the policy's, whichever is sooner; else how the first one failed.
  // Cancel-safe: every connection is closed that is not done.
  platform::Task<base::Result<Found>> discover(base::ObjectId addr, SearchPolicy policy,
                                               runtime::Deadline deadline);

  // For the breaker janitor: a search for what nobody has. Cancel-safe.
  platform::Task<bool> probe(std::uint32_t target);

  // Those of this core, in the order of the list.
  [[nodiscard]] const std::vector<std::unique_ptr<Target>>& targets() const noexcept {
    return targets_;
  }

  // Closes its connections when nobody searches any more. Once. Cancel-safe.
  platform::Task<std::size_t> close(runtime::Deadline deadline) { return client_.close(deadline); }

 private:
  class Lane;
  using Records = std::vector<catalog::ProviderRecord>;
  struct AskCounters {
    runtime::Counter* found;
    runtime::Counter* none;
    runtime::Counter* failed;
    runtime::Counter* late;
    runtime::Counter* aborted;
  };

  // Whom to ask, in this order.
  [[nodiscard]] std::vector<std::uint32_t> candidates(const base::ObjectId& addr,
                                                      bool is_static) const;
  // When a search ends, and whether whoever asked wants that sooner than those asked are told to
  // answer: who had not answered by then is not to blame.
  struct SearchTime {
    runtime::Deadline until;
    bool is_hurried;
  };
  platform::Task<base::Result<Found>> search(base::ObjectId addr,
                                             std::vector<std::uint32_t> targets, HedgePolicy policy,
                                             SearchTime time);
  platform::Task<base::Result<Records>> ask(Lane* lane, runtime::Deadline deadline);
  // An error outside is worth another try, one inside is final.
  platform::Task<base::Result<base::Result<void>>> try_once(Lane* lane, runtime::Deadline deadline);
  void count(const base::Result<Found>& result, platform::TimePoint begun);

  DiscoveryParts parts_;
  http::Client client_;
  std::vector<std::unique_ptr<Target>> targets_;
  runtime::RetryBudget retry_budget_;
  runtime::Retrier retrier_;
  std::vector<AskCounters> asks_;  // by target
  runtime::Counter& extra_asks_;
  runtime::Counter& hedged_;
  runtime::Counter& found_;
  runtime::Counter& none_;
  runtime::Counter& failed_;
  runtime::Counter& timeout_;
  runtime::Histogram& took_;
};

}  // namespace ron::index
