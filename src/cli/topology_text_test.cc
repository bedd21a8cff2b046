#include "cli/topology_text.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace ron::cli {
namespace {

TEST(TopologyText, ShowsTasksChannelsAndLocks) {
  const auto text = topology_text(
      R"([{"service":"svc-x","tasks":[{"kind":"admin","count":"1","importance":"important",)"
      R"("purpose":"serves"},{"kind":"listener","count":"per core","importance":"critical",)"
      R"("purpose":"accepts"}],"channels":[{"name":"work","kind":"mpsc","producers":"listener",)"
      R"("consumers":"worker","overflow":"reject-new","live":[{"capacity":512,"depth":3}]},)"
      R"({"name":"shutdown","kind":"watch","producers":"a","consumers":"b, c",)"
      R"("overflow":"latest","live":[]}],"locks":[{"name":"map","rank":2}]}])");
  EXPECT_EQ(text.value(),
            "svc-x\n"
            "  tasks\n"
            "    admin     1         important  serves\n"
            "    listener  per core  critical   accepts\n"
            "  channels\n"
            "    work      mpsc   listener -> worker  reject-new  3/512\n"
            "    shutdown  watch  a -> b, c           latest      -\n"
            "  locks by rank\n"
            "    2  map\n");
}

TEST(TopologyText, RefusesWhatIsNoTopology) {
  for (const char* bad : {"", "{}", "[1]", "[{}]", "null", "[{\"service\":1}", "<html>"}) {
    EXPECT_FALSE(topology_text(bad)) << bad;
  }
}

TEST(TopologyText, IsPrintableWhateverTheServerSays) {
  const auto text = topology_text(
      R"([{"service":"\u001b[31m","tasks":[7,{"kind":"\u0007"}],"channels":{},"locks":[[]]}])");
  for (const char c : text.value()) EXPECT_TRUE(c == '\n' || (c >= ' ' && c < '\x7f'));
}

TEST(TopologyText, SurvivesAnyInput) {
  EXPECT_TRUE(rc::check("any text", [](const std::string& text) {
    const auto parsed = topology_text(text);
    if (!parsed) RC_ASSERT(!parsed.error().message.empty());
  }));
}

}  // namespace
}  // namespace ron::cli
