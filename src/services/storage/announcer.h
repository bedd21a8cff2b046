// Announcer: tells an index what this node has, so that others find it.
//
// It listens to what is stored and removed and then lists everything, once at the start, again
// whenever it missed something, and every half of the time that a record holds. What it has to say
// goes out in batches, paced, each signed off the cores. What is new is said within a second; of
// what was removed a newer record says that it has expired.
//
// An index that is busy, slow or away is tried again after a backoff. Nothing is lost meanwhile
// that a list cannot bring back, and nobody who stores waits for any of this. If more is removed
// while the index is away than the backlog holds, or the process dies before it could say so, the
// records of those objects end with their time.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/object_id.h"
#include "base/result.h"
#include "base/units.h"
#include "catalog/provider_record.h"
#include "observe/log.h"
#include "platform/host.h"
#include "platform/task.h"
#include "platform/wait.h"
#include "runtime/backoff.h"
#include "runtime/deadline.h"
#include "runtime/meter.h"
#include "runtime/pacer.h"
#include "runtime/shutdown.h"
#include "runtime/topology.h"
#include "runtime/watch.h"
#include "services/index/api/api.h"
#include "services/kit/node_key.h"
#include "services/storage/announce_backlog.h"
#include "services/storage/api/api.h"

namespace ron::storage {

// What records say of this node. A snapshot, swapped whole.
struct AnnounceSettings {
  std::string url;  // where its objects can be had; empty: not known yet, and nothing is said
  std::string region;
  std::uint64_t rps = 0;  // records per second
  base::Duration ttl{};   // how long a record holds

  friend bool operator==(const AnnounceSettings&, const AnnounceSettings&) = default;
};

// All of it outlives the announcer.
struct AnnouncerParts {
  platform::Host host;
  runtime::Topology* topology;
  storage_api::StorageApi* storage;
  kit::NodeKey key;
  observe::Log log;
};

// Made on any core; run() belongs to one.
class Announcer {
 public:
  static constexpr std::size_t kBatch = 256;
  static constexpr std::size_t kBacklog = 65'536;
  // How long a change waits for others to share its batch.
  static constexpr base::Duration kGather = std::chrono::milliseconds(100);
  static constexpr base::Duration kCallTime = std::chrono::seconds(10);
  static constexpr runtime::Backoff kBackoff{std::chrono::milliseconds(200),
                                             std::chrono::seconds(30)};
  // For everything that is left at a stop.
  static constexpr base::Duration kLastCalls = std::chrono::seconds(1);

  Announcer(AnnouncerParts parts, AnnounceSettings settings);
  Announcer(const Announcer&) = delete;
  Announcer& operator=(const Announcer&) = delete;
  ~Announcer();

  // Any core. After another URL or region everything is said again.
  void apply(AnnounceSettings settings);

  // The supervised task. At a stop it says once what is left. Another run begins with a list of
  // everything. Cancel-safe.
  platform::Task<void> run(index_api::IndexApi* index, runtime::Shutdown shutdown);

  // For gauges. Any core.
  [[nodiscard]] std::uint64_t backlog() const noexcept { return waiting_.load(kRelaxed); }
  // How long the oldest of what the index has not heard has waited, a list that is under way
  // included.
  [[nodiscard]] std::uint64_t lag_ms() const noexcept;

 private:
  static constexpr auto kRelaxed = std::memory_order_relaxed;
  static constexpr std::int64_t kNothingWaits = -1;
  using Items = std::vector<AnnounceBacklog::Item>;
  using Settings = runtime::Watch<std::shared_ptr<const AnnounceSettings>>;

  // A list of everything that is under way.
  struct Sweep {
    platform::TimePoint since;
    std::optional<base::ObjectId> after{};  // said up to here
  };
  enum class Step : std::uint8_t { Wait, Changes, Page };

  platform::Task<void> listen(storage_api::Changes* changes);
  platform::Task<void> mind_settings(Settings::Receiver* settings);
  void take_settings(const AnnounceSettings& next);
  void want_sweep();
  [[nodiscard]] Step next_step(platform::TimePoint now);
  [[nodiscard]] runtime::Deadline next_due() const;
  platform::Task<bool> until_stop(platform::Task<bool> step, runtime::Shutdown shutdown);
  platform::Task<bool> say_changes(index_api::IndexApi* index);
  platform::Task<bool> say_page(index_api::IndexApi* index);
  platform::Task<base::Result<void>> say(index_api::IndexApi* index, Items items);
  platform::Task<base::Result<std::vector<catalog::ProviderRecord>>> sign(Items items);
  void count(const Items& items, std::size_t accepted);
  void failed(const base::Error& why);
  void end_sweep();
  void show_levels();

  const AnnouncerParts parts_;
  Settings settings_;
  runtime::Counter& announced_;
  runtime::Counter& withdrawn_;
  runtime::Counter& failures_;
  runtime::Counter& stale_;
  runtime::Counter& lost_;
  observe::LogLimiter said_failure_{60'000};
  observe::LogLimiter said_stale_{600'000};
  std::atomic<std::uint64_t> waiting_ = 0;
  std::atomic<std::int64_t> oldest_unix_ms_ = kNothingWaits;

  // Of run().
  platform::FastRandom jitter_;
  platform::Event wake_;
  AnnounceSettings now_;
  runtime::Pacer pacer_;
  AnnounceBacklog backlog_{kBacklog};
  std::optional<Sweep> sweep_;
  bool sweep_again_ = false;        // something was missed behind the one under way
  platform::TimePoint swept_at_{};  // when the last one began
  bool page_is_next_ = false;
  std::uint32_t tries_ = 0;  // that have failed in a row
  std::uint64_t last_seq_ = 0;
  runtime::Deadline last_moment_;  // set by a stop
};

}  // namespace ron::storage
