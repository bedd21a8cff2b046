#include "services/kit/event_feed.h"

#include <string>

#include <gtest/gtest.h>

#include "runtime/test_executor.h"
#include "runtime/test_wires.h"

namespace ron::kit {
namespace {

using runtime::Broadcast;
using runtime::Running;

struct EventFeedTest : testing::Test {
  runtime::TestCores cores;
  runtime::TestService service;
  Broadcast<int> events{service.topology, runtime::kEvents, 2};
  EventFeed<int> feed{events,
                      [](int value) { return http::ServerEvent{.data = std::to_string(value)}; },
                      [](std::uint64_t missed) {
                        return http::ServerEvent{.name = "gap", .data = std::to_string(missed)};
                      }};

  std::string next() {
    Running recv(cores[0], feed.next());
    cores.run();
    EXPECT_TRUE(recv.done());
    const auto event = std::move(recv.value());
    return event ? event->name + ":" + event->data : "over";
  }
};

TEST_F(EventFeedTest, SaysWhatHappened) {
  events.send(7);
  EXPECT_EQ(next(), ":7");
}

TEST_F(EventFeedTest, TellsASlowReaderWhatItMissed) {
  for (int i = 1; i <= 5; ++i) events.send(i);
  EXPECT_EQ(next(), "gap:3");
  EXPECT_EQ(next(), ":4");
  EXPECT_EQ(next(), ":5");
}

TEST_F(EventFeedTest, EndsWithItsChannel) {
  events.close();
  EXPECT_EQ(next(), "over");
}

}  // namespace
}  // namespace ron::kit
