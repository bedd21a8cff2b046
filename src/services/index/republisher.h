// Republisher: keeps the records of this node known to others. The DHT forgets a value after ten
// minutes, so everything is published again every five; what is new is published at once.
//
// Every target has a round of its own through all records, so that one that is slow or dead delays
// only itself. While its breaker is open it is waited for. How far the worst of them is behind is
// `index_republish_lag_seconds`: records that nobody can find any more are otherwise noticed by
// nobody.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "catalog/provider_record.h"
#include "platform/clock.h"
#include "platform/task.h"
#include "runtime/background.h"
#include "runtime/deadline.h"
#include "runtime/meter.h"
#include "runtime/mpsc.h"
#include "runtime/shutdown.h"
#include "runtime/topology.h"
#include "services/index/breakers.h"
#include "services/index/target.h"
#include "services/index/targets.h"

namespace ron::index {

// Records of this node in a fixed order, page by page.
struct RecordPage {
  std::vector<catalog::ProviderRecord> records;
  std::string after;  // where the next page begins; empty: this was the last
};
// `after` is empty for the first page. Expired records are left out. Cancel-safe.
using ReadRecords =
    std::function<platform::Task<base::Result<RecordPage>>(std::string after, std::size_t limit)>;

struct RepublishPolicy {
  base::Duration every = std::chrono::minutes(5);
  std::uint32_t per_second = 100;  // records for each target at most
};
using RepublishSettings = std::function<RepublishPolicy()>;

class Republisher {
 public:
  static constexpr std::size_t kPageRecords = 64;
  static constexpr std::size_t kInFlight = 8;  // records on their way to one target
  static constexpr base::Duration kPublishTimeout = std::chrono::seconds(5);
  // How often an open breaker is looked at, and a page that could not be read asked for again.
  static constexpr base::Duration kPatience = std::chrono::seconds(1);
  // After a round in which something failed, the next one comes so much sooner.
  static constexpr int kSooner = 5;

  struct Parts {
    runtime::Topology* topology;
    const platform::Clock* clock;
    const TargetList* targets;
    BreakerTable* breakers;
    ReadRecords read;
    RepublishSettings settings;
    bool is_amnesiac = false;  // then nothing is published, ever
  };
  explicit Republisher(Parts parts);
  Republisher(const Republisher&) = delete;
  Republisher& operator=(const Republisher&) = delete;

  // A new record of this node; published to every target as soon as its turn comes. Any thread.
  void announce(const catalog::ProviderRecord& record);

  // Publishes through these targets, those of its core, until it is told to stop. The first round
  // begins at once: nobody knows what the DHT still has. Once at a time. Cancel-safe: what was on
  // its way is published with the next round.
  platform::Task<void> run(const std::vector<std::unique_ptr<Target>>* targets,
                           runtime::Shutdown shutdown);

 private:
  // What others see of one target's part of it.
  struct Lane {
    Lane(platform::TimePoint now, runtime::Counter& ok, runtime::Counter& bad)
        : last_good_end(now.time_since_epoch().count()), published(ok), failures(bad) {}

    // When the last round without a failure was over.
    std::atomic<std::int64_t> last_good_end;
    runtime::Counter& published;
    runtime::Counter& failures;
  };
  // The rest of it, in the frame of the task that does it.
  struct Walk {
    std::uint32_t index;
    Target* target;
    runtime::Deadline due;       // of the next round
    platform::TimePoint turn{};  // when the next record may leave
    bool is_clean = true;        // this round, so far
    std::vector<std::unique_ptr<runtime::Background<void>>> in_flight{};
  };

  platform::Task<void> run_lane(std::uint32_t index, Target* target);
  platform::Task<void> run_round(Walk* walk);
  platform::Task<void> publish_announced(Walk* walk);
  // Waits for the breaker, for a free place and for its turn, and sends it on its way.
  platform::Task<void> begin(Walk* walk, catalog::ProviderRecord record);
  platform::Task<void> publish(Walk* walk, catalog::ProviderRecord record);
  static platform::Task<void> wait_for_one(Walk* walk);
  [[nodiscard]] std::int64_t lag_seconds() const;

  Parts parts_;
  std::vector<std::unique_ptr<Lane>> lanes_;  // by target
  using Announcements = runtime::Mpsc<catalog::ProviderRecord>;
  std::vector<std::unique_ptr<Announcements>> announcements_;  // of each target
  std::atomic<std::int64_t> every_;                            // for the lag
  runtime::GaugeRegistration lag_;
};

}  // namespace ron::index
