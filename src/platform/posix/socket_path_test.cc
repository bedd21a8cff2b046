#include "platform/posix/socket_path.h"

#include <fstream>
#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "platform/contract_world.h"

namespace ron::platform::posix {
namespace {

constexpr int kBacklog = 8;

class SocketPathTest : public testing::Test {
 protected:
  [[nodiscard]] std::string path(const std::string& name = "sock") const {
    return scratch_.path() + "/" + name;
  }
  static mode_t mode(const std::string& of) {
    struct stat found{};
    return lstat(of.c_str(), &found) == 0 ? found.st_mode & 0777 : 0;
  }
  static std::string why_not(const std::string& path) {
    const auto claimed = SocketPath::claim(path, kBacklog);
    return claimed ? "" : claimed.error().message;
  }
  test::ScratchDirectory scratch_;
};

TEST_F(SocketPathTest, NobodyElseMayUseTheSocketOrItsNewDirectory) {
  const auto claimed = SocketPath::claim(path("run/sock"), kBacklog);
  ASSERT_TRUE(claimed.has_value());
  EXPECT_EQ(mode(path("run")), 0700U);
  EXPECT_EQ(mode(path("run/sock")), 0600U);
}

TEST_F(SocketPathTest, TheNameGoesWithTheSocket) {
  {
    ASSERT_TRUE(SocketPath::claim(path(), kBacklog).has_value());
  }
  EXPECT_EQ(mode(path()), 0U);
}

TEST_F(SocketPathTest, ADirectoryThatLetsOthersInIsRefused) {
  ASSERT_EQ(chmod(scratch_.path().c_str(), 0755), 0);
  EXPECT_THAT(why_not(path()), testing::HasSubstr("chmod 700"));
}

TEST_F(SocketPathTest, ANameSomebodyListensOnIsTaken) {
  const auto first = SocketPath::claim(path(), kBacklog);
  ASSERT_TRUE(first.has_value());
  EXPECT_THAT(why_not(path()), testing::HasSubstr("another process listens"));
  EXPECT_EQ(mode(path()), 0600U);
}

TEST_F(SocketPathTest, ANameLeftByADeadProcessIsReplaced) {
  auto first = SocketPath::claim(path(), kBacklog);
  ASSERT_TRUE(first.has_value());
  ASSERT_EQ(link(path().c_str(), path("kept").c_str()), 0);
  {
    const SocketPath gone = std::move(*first);
  }
  ASSERT_EQ(rename(path("kept").c_str(), path().c_str()), 0);
  EXPECT_TRUE(SocketPath::claim(path(), kBacklog).has_value());
}

TEST_F(SocketPathTest, WhatIsNoSocketIsLeftAlone) {
  std::ofstream(path()) << "precious";
  EXPECT_THAT(why_not(path()), testing::HasSubstr("something else"));
  std::string kept;
  std::ifstream(path()) >> kept;
  EXPECT_EQ(kept, "precious");
}

TEST_F(SocketPathTest, ANameThatAnotherTookOverIsNotRemoved) {
  auto first = SocketPath::claim(path(), kBacklog);
  ASSERT_TRUE(first.has_value());
  ASSERT_EQ(unlink(path().c_str()), 0);
  const auto second = SocketPath::claim(path(), kBacklog);
  ASSERT_TRUE(second.has_value());
  {
    const SocketPath gone = std::move(*first);
  }
  EXPECT_EQ(mode(path()), 0600U);
}

}  // namespace
}  // namespace ron::platform::posix
