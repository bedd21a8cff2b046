#include "services/kit/worker_faults.h"

#include <gtest/gtest.h>

#include "platform/wait.h"
#include "runtime/test_executor.h"

namespace ron::kit {
namespace {

TEST(WorkerFaults, NobodyFailsWhoWasNotAskedTo) {
  WorkerFaults faults;
  EXPECT_FALSE(faults.take());
  faults.ask_for(0);
  EXPECT_FALSE(faults.take());
}

TEST(WorkerFaults, AsManyFailAsWereAskedForInAll) {
  WorkerFaults faults;
  faults.ask_for(2);
  EXPECT_TRUE(faults.take());
  EXPECT_TRUE(faults.take());
  EXPECT_FALSE(faults.take());
  faults.ask_for(2);  // a reload with the same number asks for nothing
  EXPECT_FALSE(faults.take());
  faults.ask_for(3);
  EXPECT_TRUE(faults.take());
  EXPECT_FALSE(faults.take());
}

TEST(WorkerFaults, WhoWaitsIsTold) {
  runtime::TestCores cores;
  cores[0].enter([] {
    WorkerFaults faults;
    WorkerFaults::Asked before = faults.asked();
    faults.ask_for(1);
    platform::Parker parker;
    platform::Waiter waiter(parker);
    EXPECT_EQ(before.poll(waiter), runtime::Poll::Ready);
    WorkerFaults::Asked after = faults.asked();
    EXPECT_EQ(after.poll(waiter), runtime::Poll::Pending);
    after.forget(waiter);
  });
}

}  // namespace
}  // namespace ron::kit
