#include "cli/stats_screen.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace ron::cli {
namespace {

std::size_t lines_of(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count(text, '\n'));
}

TEST(StatsScreen, HasALineForEachSubject) {
  const auto screen = stats_screen(
      R"({"amnesia":false,"volumes":[{"readable":true,"writable":false,"reason":"disk full",
          "objects":2,"object_bytes":2048,"stored_bytes":4096,"dead_bytes":1024,"segments":1,
          "free_bytes":1048576,"uploads":1,"quarantined":0,"index_bytes":5,
          "scrub":{"running":false,"checked_bytes":0,"total_bytes":0,"damaged":0,"passes":1,
                   "finished_at":"2026-11-15T12:00:00Z"}}],
          "cache":{"objects":1,"bytes":1024,"capacity_bytes":2048},
          "queues":[{"name":"work","depth":4,"capacity":512}],
          "uploads":{"open":1,"max_open":1000},
          "memory":{"most_bytes":1048576,"addends":[{"what":"x","bytes":1}]},
          "tenants":[{"name":"acme","bytes":2048,"limit_bytes":4096,"objects":2}]})");
  ASSERT_TRUE(screen);
  EXPECT_EQ(*screen,
            "objects   2, 2.00 KiB\n"
            "volume 1  not writable (disk full), 4.00 KiB used, 1.00 KiB of that dead, 1.00 MiB "
            "free, 0 quarantined\n"
            "  scrub   last finished 2026-11-15T12:00:00Z, 0 damaged\n"
            "cache     1 objects, 1.00 KiB of 2.00 KiB\n"
            "memory    at most 1.00 MiB\n"
            "uploads   1 open of 1000\n"
            "queue     work: 4 of 512\n"
            "tenant    acme: bytes 2.00 KiB, limit_bytes 4.00 KiB, objects 2\n");
}

TEST(StatsScreen, TellsHowFarAScrubIs) {
  const auto screen = stats_screen(
      R"({"volumes":[{"readable":true,"writable":true,"scrub":{"running":true,
          "checked_bytes":512,"total_bytes":2048,"damaged":1,"eta_s":90}}]})");
  ASSERT_TRUE(screen);
  EXPECT_NE(screen->find("  scrub   runs, 25% of 2.00 KiB, 1 damaged, done in about 1m30s\n"),
            std::string::npos)
      << *screen;
}

TEST(StatsScreen, FitsAScreenHoweverMuchThereIs) {
  std::string volumes;
  std::string tenants;
  for (int i = 0; i < 60; ++i) {
    volumes += std::string(i == 0 ? "" : ",") + R"({"readable":true,"writable":true})";
    tenants += std::string(i == 0 ? "" : ",") + R"({"name":"t"})";
  }
  const auto screen =
      stats_screen(R"({"volumes":[)" + volumes + R"(],"tenants":[)" + tenants + "]}");
  ASSERT_TRUE(screen);
  EXPECT_LE(lines_of(*screen), 24U) << *screen;
  EXPECT_NE(screen->find("and 54 more; --all shows them"), std::string::npos);
}

TEST(StatsScreen, RefusesWhatIsNotStatistics) {
  EXPECT_FALSE(stats_screen("[]"));
  EXPECT_FALSE(stats_screen(""));
}

}  // namespace
}  // namespace ron::cli
