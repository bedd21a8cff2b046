// The declarations and the registry of an imaginary service, for the runtime's tests.
#pragma once

#include <array>
#include <string_view>

#include "runtime/metric_names.h"
#include "runtime/topology.h"

namespace ron::runtime {

inline constexpr std::array<ChannelDecl, 5> kTestChannels = {{
    {"work", ChannelKind::Mpsc, 4, Overflow::RejectNew, "listener, planner", "workers", "429 Busy",
     "channels.work"},
    {"ticks", ChannelKind::Mpsc, 2, Overflow::DropOldest, "core", "metrics", "oldest tick", ""},
    {"jobs", ChannelKind::Mpsc, 2, Overflow::Wait, "core", "workers", "waits", ""},
    {"events", ChannelKind::Broadcast, 4, Overflow::DropOldest, "core", "sse", "Lagged", ""},
    {"config", ChannelKind::Watch, 1, Overflow::Latest, "supervisor", "all", "last wins", ""},
}};
inline constexpr const ChannelDecl& kWork = kTestChannels[0];
inline constexpr const ChannelDecl& kTicks = kTestChannels[1];
inline constexpr const ChannelDecl& kJobs = kTestChannels[2];
inline constexpr const ChannelDecl& kEvents = kTestChannels[3];
inline constexpr const ChannelDecl& kConfig = kTestChannels[4];

inline constexpr std::array<TaskDecl, 3> kTestTasks = {{
    {"listener", "per core", Importance::Critical, "accepts what is called a \"connection\""},
    {"worker", "2", Importance::Important, "does the work"},
    {"janitor", "1", Importance::Optional, "C:\\cleans\tup"},
}};
inline constexpr std::array<LockDecl, 3> kTestLocks = {{
    {"index", 1, "the index"},
    {"cache", 2, "the cache"},
    {"log", 3, "the log"},
}};
inline constexpr Wires kTestWires{"svc-test", kTestTasks, kTestChannels, kTestLocks};

struct TestService {
  Meters meters{"svc-test"};
  Topology topology{kTestWires, meters};

  std::uint64_t count(const MetricDecl& decl, std::string_view label) {
    return meters.counter(decl, {label}).value();
  }
  // A gauge as a scrape sees it; -1 when the series is not there.
  [[nodiscard]] std::int64_t level(const MetricDecl& decl, std::string_view label) const {
    for (const FamilyReading& family : meters.collect()) {
      if (family.decl != &decl) continue;
      for (const SeriesReading& series : family.series) {
        if (series.labels[0] == label) return series.level;
      }
    }
    return -1;
  }
};

}  // namespace ron::runtime
