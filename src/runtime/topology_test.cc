#include "runtime/topology.h"

#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "runtime/broadcast.h"
#include "runtime/mpsc.h"
#include "runtime/test_wires.h"
#include "runtime/watch.h"

namespace ron::runtime {
namespace {

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST(Topology, JsonShowsDeclarationsAndLiveDepths) {
  TestService service;
  Mpsc<int> first(service.topology, kWork, 8);
  Mpsc<int> second(service.topology, kWork, 16);
  EXPECT_TRUE(first.try_send(1));
  EXPECT_TRUE(second.try_send(1));
  EXPECT_TRUE(second.try_send(2));
  const auto json = nlohmann::json::parse(to_json(service.topology));
  EXPECT_EQ(json["service"], "svc-test");
  ASSERT_EQ(json["channels"].size(), kTestChannels.size());
  const auto& work = json["channels"][0];
  EXPECT_EQ(work["name"], "work");
  EXPECT_EQ(work["kind"], "mpsc");
  EXPECT_EQ(work["overflow"], "reject-new");
  EXPECT_EQ(work["producers"], "listener, planner");
  ASSERT_EQ(work["live"].size(), 2U);
  EXPECT_EQ(work["live"][0]["capacity"], 8);
  EXPECT_EQ(work["live"][0]["depth"], 1);
  EXPECT_EQ(work["live"][1]["depth"], 2);
  EXPECT_TRUE(json["channels"][1]["live"].empty());
  ASSERT_EQ(json["locks"].size(), kTestLocks.size());
  EXPECT_EQ(json["locks"][1]["rank"], 2);
}

TEST(Topology, JsonEscapesTheTexts) {
  TestService service;
  const auto json = nlohmann::json::parse(to_json(service.topology));
  for (std::size_t i = 0; i < kTestTasks.size(); ++i) {
    EXPECT_EQ(json["tasks"][i]["purpose"], std::string(kTestTasks[i].purpose));
  }
}

TEST(Topology, AChannelIsLiveOnlyWhileItExists) {
  TestService service;
  EXPECT_TRUE(service.topology.sample().empty());
  {
    const Broadcast<int> events(service.topology, kEvents, 4);
    const Watch<int> config(service.topology, kConfig, 0);
    EXPECT_EQ(service.topology.sample().size(), 2U);
  }
  EXPECT_TRUE(service.topology.sample().empty());
}

TEST(Topology, UndeclaredChannelDies) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  TestService service;
  ChannelDecl stray = kWork;
  stray.name = "stray";
  EXPECT_DEATH(Mpsc<int>(service.topology, stray, 4), "a channel is declared in its service");
}

TEST(Topology, MarkdownListsEverything) {
  const std::string text = to_markdown(kTestWires);
  EXPECT_TRUE(contains(text, "## svc-test"));
  EXPECT_TRUE(contains(text, "| worker | 2 | important | does the work |"));
  EXPECT_TRUE(contains(text,
                       "| work | mpsc | 4 | listener, planner | workers | reject-new | 429 Busy | "
                       "`channels.work` |"));
  EXPECT_TRUE(contains(text, "| 3 | log | the log |"));
  EXPECT_TRUE(contains(text, "```mermaid\nflowchart LR\n"));
}

TEST(Topology, MermaidDrawsAnArrowPerProducerAndConsumer) {
  const std::string graph = to_mermaid(kTestWires);
  EXPECT_TRUE(contains(graph, "listener[\"listener\"] -->|\"mpsc work 4\"| workers[\"workers\"]"));
  EXPECT_TRUE(contains(graph, "planner[\"planner\"] -->|\"mpsc work 4\"| workers[\"workers\"]"));
}

TEST(Topology, NamesCoverEveryValue) {
  EXPECT_EQ(name(ChannelKind::Watch), "watch");
  EXPECT_EQ(name(Importance::Optional), "optional");
  EXPECT_EQ(name(Overflow::Latest), "latest");
  EXPECT_EQ(name(StopReason::ParentStopped), "parent_stopped");
}

}  // namespace
}  // namespace ron::runtime
