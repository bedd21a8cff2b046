#include "chain/frame_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "chain/test_frame_log.h"

namespace ron::chain {
namespace {

using base::Code;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using volume::Machine;

TEST(FrameLog, HasItsFramesAgainAfterARestart) {
  Machine machine(1);
  {
    TestLog log(machine, machine.node.disk());
    ASSERT_TRUE(log.open());
    EXPECT_THAT(log.visited, IsEmpty());
    ASSERT_TRUE(log.append({"zero", "", "two"}));
    ASSERT_TRUE(log.append({std::string(5000, 'x')}));
    EXPECT_EQ(log->first(), 0U);
    EXPECT_EQ(log->next(), 4U);
    EXPECT_THAT(*log.read(0, 3, 1000), ElementsAre("zero", "", "two"));
    ASSERT_TRUE(log.close());
  }
  TestLog log(machine, machine.node.disk());
  ASSERT_TRUE(log.open());
  EXPECT_THAT(log.visited, ElementsAre("zero", "", "two", std::string(5000, 'x')));
  EXPECT_EQ(log->next(), 4U);
  ASSERT_TRUE(log.append({"four"}));
  EXPECT_THAT(*log.read(2, 10, 100'000), ElementsAre("two", std::string(5000, 'x'), "four"));
}

}  // namespace
}  // namespace ron::chain
