#include "services/gateway/worker_faults.h"

#include <gtest/gtest.h>

namespace ron::gateway {
namespace {

TEST(WorkerFaults, NobodyFailsWhoWasNotAskedTo) {
  WorkerFaults faults;
  EXPECT_FALSE(faults.take());
  faults.ask_for(0);
  EXPECT_FALSE(faults.take());
  EXPECT_FALSE(faults.call().requested());
}

TEST(WorkerFaults, AsManyFailAsWereAskedForInAll) {
  WorkerFaults faults;
  const runtime::Shutdown first = faults.call();
  faults.ask_for(2);
  EXPECT_TRUE(first.requested());
  EXPECT_TRUE(faults.take());
  EXPECT_TRUE(faults.take());
  EXPECT_FALSE(faults.take());
  const runtime::Shutdown second = faults.call();
  faults.ask_for(2);  // a reload with the same number asks for nothing
  EXPECT_FALSE(second.requested());
  EXPECT_FALSE(faults.take());
  faults.ask_for(3);
  EXPECT_TRUE(second.requested());
  EXPECT_TRUE(faults.take());
  EXPECT_FALSE(faults.take());
}

}  // namespace
}  // namespace ron::gateway
