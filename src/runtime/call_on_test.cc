#include "runtime/call_on.h"

#include <memory>

#include <gtest/gtest.h>

#include "runtime/test_executor.h"

namespace ron::runtime {
namespace {

TEST(CallOn, RunsThereAndReturnsHere) {
  TestCores cores(2);
  Running call(cores[0], call_on(&cores[1], [] { return platform::Executor::current(); }));
  while (cores[0].run_one()) {
  }
  EXPECT_FALSE(call.done());  // the other core has not run yet
  cores.run();
  ASSERT_TRUE(call.done());
  EXPECT_EQ(call.value(), &cores[1]);
}

TEST(CallOn, AnAbortedCallerLosesOnlyTheResult) {
  TestCores cores(2);
  bool ran = false;
  auto work = [&ran] {
    ran = true;
    return std::make_unique<int>(1);
  };
  Running call(cores[0], call_on(&cores[1], work));
  while (cores[0].run_one()) {
  }
  call.abort();
  cores.run();
  EXPECT_TRUE(ran);
}

}  // namespace
}  // namespace ron::runtime
