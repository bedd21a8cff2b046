#include "sim/harness/refusals.h"

#include <chrono>
#include <memory>

#include <gtest/gtest.h>

#include "http/metric_names.h"
#include "runtime/mpsc.h"
#include "runtime/test_wires.h"

namespace ron::sim {
namespace {

using namespace std::chrono_literals;
using runtime::metrics::kRejectedTotal;

// A service with a queue of four and a limit of two requests in flight.
struct RefusalsTest : testing::Test {
  platform::sim::World world{1};
  runtime::TestService service;
  runtime::Mpsc<int> work{service.topology, runtime::kWork, 4};
  runtime::Gauge& inflight = service.meters.gauge(http::metrics::kInflight);
  Timeline timeline;
  Refusals refusals{world};

  RefusalsTest() {
    auto settings = std::make_shared<kit::ServiceConfig>();
    settings->server.max_inflight = 2;
    Era era;
    era.settings = std::move(settings);
    timeline.begin_life(std::move(era), world.now());
    refusals.watch(service.meters, service.topology, timeline);
  }
};

TEST_F(RefusalsTest, AFullQueueMayRefuse) {
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(work.try_send(i));
  EXPECT_EQ(refusals.look(), std::nullopt);
  EXPECT_FALSE(refusals.any("work", {}, world.now()));
  EXPECT_FALSE(work.try_send(4));
  EXPECT_EQ(refusals.look(), std::nullopt);
  EXPECT_TRUE(refusals.any("work", {}, world.now()));
  EXPECT_FALSE(refusals.any("max_inflight", {}, world.now()));
}

TEST_F(RefusalsTest, AQueueWithRoomMayNot) {
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(work.try_send(i));
  service.meters.counter(runtime::metrics::kQueueDroppedTotal, {"work"}).add();
  EXPECT_EQ(refusals.look(), "refused for want of work, though only 3 of 4 were in use");
}

TEST_F(RefusalsTest, ALimitRefusesOnceItIsReached) {
  inflight.set(1);
  runtime::Counter& refused = service.meters.counter(kRejectedTotal, {"inflight"});
  refused.add();
  EXPECT_NE(refusals.look(), std::nullopt);
  inflight.set(2);
  refused.add();
  EXPECT_EQ(refusals.look(), std::nullopt);
}

TEST_F(RefusalsTest, WhoWasRefusedOnceIsNotRefusedForEver) {
  inflight.set(2);
  service.meters.counter(kRejectedTotal, {"inflight"}).add();
  EXPECT_EQ(refusals.look(), std::nullopt);
  const TimePoint then = world.now();
  world.run_for(1s);
  EXPECT_EQ(refusals.look(), std::nullopt);
  EXPECT_TRUE(refusals.any("", then, world.now()));
  EXPECT_FALSE(refusals.any("", world.now(), world.now()));
}

}  // namespace
}  // namespace ron::sim
