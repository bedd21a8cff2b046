#include "cli/server_url.h"

#include <gtest/gtest.h>

namespace ron::cli {
namespace {

TEST(ServerUrl, TheAdminListenerIsAThousandPortsAbove) {
  EXPECT_EQ(admin_of({.host = "h", .port = 8081})->text(), "http://h:9081");
  EXPECT_EQ(admin_of({.host = "h", .port = 8080})->text(), "http://h:9090");
  EXPECT_EQ(admin_of({.host = "h", .port = 64535})->port, 65535);
  EXPECT_EQ(admin_of({.scheme = ServerUrl::Scheme::Https, .host = "h", .port = 443})->text(),
            "https://h:1443");
  EXPECT_FALSE(admin_of({.scheme = ServerUrl::Scheme::Unix, .host = "/run/ron.sock"}));
  const auto none = admin_of({.host = "h", .port = 64536});
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().message.find("--admin-url"), std::string::npos);
}

}  // namespace
}  // namespace ron::cli
