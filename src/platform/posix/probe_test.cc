#include "platform/posix/probe.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/units.h"
#include "platform/posix/descriptor.h"

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

TEST(Probe, SeesWhoListensOnThisMachine) {
  const Descriptor listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  auto* const at = reinterpret_cast<sockaddr*>(&address);
  ASSERT_EQ(bind(listener.get(), at, length), 0);
  ASSERT_EQ(getsockname(listener.get(), at, &length), 0);
  EXPECT_FALSE(is_served_locally(ntohs(address.sin_port))) << "bound, but it does not listen yet";
  ASSERT_EQ(listen(listener.get(), 1), 0);
  EXPECT_TRUE(is_served_locally(ntohs(address.sin_port)));
}

}  // namespace
}  // namespace ron::platform::posix
