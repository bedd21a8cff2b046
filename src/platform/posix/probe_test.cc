#include "platform/posix/probe.h"

#include <gtest/gtest.h>

#include "base/units.h"

namespace ron::platform::posix {
namespace {

TEST(Probe, FindsMemoryAndDescriptors) {
  const Machine machine = probe_machine();
  EXPECT_GT(machine.memory_bytes, 16 * base::kMiB);
  EXPECT_GT(machine.open_files, 3U);
}

TEST(Probe, AnswersTheSameTwice) {
  EXPECT_EQ(probe_machine().huge_pages, probe_machine().huge_pages);
}

}  // namespace
}  // namespace ron::platform::posix
