#include "runtime/within.h"

#include <memory>

#include <gtest/gtest.h>

#include "runtime/test_executor.h"

namespace ron::runtime {
namespace {

using namespace std::chrono_literals;
using base::Code;
using base::Result;

struct WithinTest : testing::Test {
  TestCores cores;
};

platform::Task<Result<int>> after(base::Duration time, std::shared_ptr<int> value) {
  if (time > base::Duration::zero()) co_await sleep_for(time);
  co_return *value;
}

TEST_F(WithinTest, WhatIsDoneInTimeIsHandedOn) {
  Running run(cores[0], within(cores[0].in(2s), after(1s, std::make_shared<int>(3))));
  cores.advance(1s);
  ASSERT_TRUE(run.done());
  EXPECT_EQ(run.value(), 3);
}

TEST_F(WithinTest, WhatIsLateIsAbortedAndTimeout) {
  auto value = std::make_shared<int>(3);
  Running run(cores[0], within(cores[0].in(1s), after(1h, value)));
  cores.run();
  EXPECT_EQ(value.use_count(), 2);
  cores.advance(1s);
  ASSERT_TRUE(run.done());
  EXPECT_EQ(run.value().error().code, Code::Timeout);
  EXPECT_EQ(value.use_count(), 1);
}

TEST_F(WithinTest, WorkThatNeedNotWaitIsNeverLate) {
  Running run(cores[0], within(Deadline(cores.now() - 1s), after(0s, std::make_shared<int>(3))));
  cores.run();
  EXPECT_EQ(run.value(), 3);
  EXPECT_EQ(cores[0].timers(), 0U);
}

}  // namespace
}  // namespace ron::runtime
