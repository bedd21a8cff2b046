#include "cli/stats_text.h"

#include <gtest/gtest.h>

namespace ron::cli {
namespace {

using namespace std::chrono_literals;

TEST(StatsText, ShowsGroupsSizesAndNames) {
  const auto text = stats_text(
      R"({"objects":3,"object_bytes":2048,"volumes":[{"path":"d\u0007","writable":true,
          "scrub":{"running":false,"damaged":1}}],"queues":[{"name":"work","depth":4}]})",
      "", 1s);
  ASSERT_TRUE(text);
  EXPECT_EQ(*text,
            "objects: 3\n"
            "object: 2.00 KiB\n"
            "volumes 1\n"
            "  path: d\\x07\n"
            "  writable: yes\n"
            "  scrub\n"
            "    running: no\n"
            "    damaged: 1\n"
            "work\n"
            "  depth: 4\n");
}

TEST(StatsText, TellsWhenARunningScrubWillBeDone) {
  const auto stats = [](std::uint64_t checked) {
    return R"({"volumes":[{"scrub":{"running":true,"checked_bytes":)" + std::to_string(checked) +
           R"(,"total_bytes":10485760}}]})";
  };
  EXPECT_TRUE(scrub_runs(stats(0)));
  const auto text = stats_text(stats(0), stats(1048576), 1s);
  ASSERT_TRUE(text);
  EXPECT_TRUE(text->ends_with("scrub: 10% of 10.00 MiB, 1.00 MiB/s, done in about 9s\n")) << *text;
}

TEST(StatsText, RefusesWhatIsNotStatistics) {
  EXPECT_FALSE(stats_text("[]", "", 1s));
  EXPECT_FALSE(stats_text("", "", 1s));
  EXPECT_FALSE(scrub_runs("nonsense"));
}

}  // namespace
}  // namespace ron::cli
