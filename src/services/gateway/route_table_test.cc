#include "services/gateway/route_table.h"

#include <string>

#include <gtest/gtest.h>

namespace ron::gateway {
namespace {

std::vector<RouteConfig> rows(std::initializer_list<std::string_view> prefixes) {
  std::vector<RouteConfig> out;
  for (const std::string_view prefix : prefixes) {
    RouteConfig row;
    row.prefix = prefix;
    out.push_back(std::move(row));
  }
  return out;
}

std::string found(const RouteTable& table, std::string_view path) {
  const RouteConfig* const route = table.find(path);
  return route == nullptr ? "none" : route->prefix;
}

TEST(RouteTable, TheLongestPrefixWins) {
  const auto table = RouteTable::make(rows({"/o", "/", "/o/special", "/uploads"})).value();
  EXPECT_EQ(found(table, "/o/x"), "/o");
  EXPECT_EQ(found(table, "/o/special/x"), "/o/special");
  EXPECT_EQ(found(table, "/o/specialist"), "/o");
  EXPECT_EQ(found(table, "/uploads"), "/uploads");
  EXPECT_EQ(found(table, "/anything"), "/");
}

TEST(RouteTable, APrefixEndsWithASegment) {
  const auto table = RouteTable::make(rows({"/o"})).value();
  EXPECT_EQ(found(table, "/o"), "/o");
  EXPECT_EQ(found(table, "/o/"), "/o");
  EXPECT_EQ(found(table, "/other"), "none");
  EXPECT_EQ(found(table, "/"), "none");
}

TEST(RouteTable, RefusesWhatCouldBeReadTwoWays) {
  for (const std::string_view bad : {"", "o", "/o/", "/o//x", "/o/../x", "/%6f", "/o?x"}) {
    const auto made = RouteTable::make(rows({bad}));
    ASSERT_FALSE(made) << bad;
    EXPECT_NE(made.error().message.find("'" + std::string(bad) + "'"), std::string::npos);
  }
  EXPECT_FALSE(RouteTable::make(rows({"/o", "/x", "/o"})));
}

}  // namespace
}  // namespace ron::gateway
