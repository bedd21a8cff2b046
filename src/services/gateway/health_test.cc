#include "services/gateway/health.h"

#include <gtest/gtest.h>

namespace ron::gateway {
namespace {

Vitals well() {
  return {.workers = 2,
          .workers_wanted = 2,
          .scheduler = true,
          .waiting = 0,
          .waiting_most = 100,
          .lost_upstreams = {},
          .upstreams = 2};
}

TEST(Health, IsWellWhenNothingIsMissing) {
  Health health;
  EXPECT_FALSE(health.note(well()));
  EXPECT_FALSE(health.sheds_writes());
  EXPECT_TRUE(health.readiness().ready);
  EXPECT_TRUE(health.readiness().write_ready);
  EXPECT_TRUE(health.readiness().missing.empty());
}

TEST(Health, AMissingWorkerShedsWritesAndReadsGoOn) {
  Health health;
  Vitals vitals = well();
  vitals.workers = 1;
  EXPECT_TRUE(health.note(vitals));
  EXPECT_TRUE(health.sheds_writes());
  EXPECT_TRUE(health.readiness().ready);
  EXPECT_FALSE(health.readiness().write_ready);
  EXPECT_EQ(health.readiness().missing, std::vector<std::string>{"worker: 1 of 2"});
  EXPECT_FALSE(health.note(vitals)) << "nothing has changed";
  EXPECT_TRUE(health.note(well())) << "it recovers by itself";
  EXPECT_FALSE(health.sheds_writes());
}

TEST(Health, AFullQueueShedsWritesUntilItIsHalfEmpty) {
  Health health;
  Vitals vitals = well();
  vitals.waiting = 74;
  health.note(vitals);
  EXPECT_FALSE(health.sheds_writes());
  vitals.waiting = 75;
  health.note(vitals);
  EXPECT_TRUE(health.sheds_writes());
  vitals.waiting = 50;
  health.note(vitals);
  EXPECT_TRUE(health.sheds_writes()) << "no flapping at the edge";
  vitals.waiting = 49;
  health.note(vitals);
  EXPECT_FALSE(health.sheds_writes());
}

TEST(Health, IsUnreadyOnlyWhenReadsCannotBeServed) {
  Health health;
  Vitals vitals = well();
  vitals.lost_upstreams = {"a"};
  health.note(vitals);
  EXPECT_TRUE(health.readiness().ready) << "the other one answers";
  EXPECT_FALSE(health.sheds_writes()) << "its requests are told so one by one";
  EXPECT_EQ(health.readiness().missing, std::vector<std::string>{"upstream: a"});
  vitals.lost_upstreams = {"a", "b"};
  health.note(vitals);
  EXPECT_FALSE(health.readiness().ready);
  vitals = well();
  vitals.workers = 0;
  health.note(vitals);
  EXPECT_FALSE(health.readiness().ready);
  vitals = well();
  vitals.scheduler = false;
  health.note(vitals);
  EXPECT_FALSE(health.readiness().ready);
}

}  // namespace
}  // namespace ron::gateway
