#include "services/gateway/route_table.h"

#include <string>
#include <utility>

#include <gtest/gtest.h>

namespace ron::gateway {
namespace {

using http::Method;

RouteConfig row(std::string_view prefix, config::TextList upstream = {"inproc:storage"}) {
  RouteConfig made;
  made.prefix = prefix;
  made.upstream = std::move(upstream);
  return made;
}

std::vector<RouteConfig> rows(std::initializer_list<std::string_view> prefixes) {
  std::vector<RouteConfig> out;
  for (const std::string_view prefix : prefixes) out.push_back(row(prefix));
  return out;
}

std::string found(const RouteTable& table, std::string_view path) {
  const Route* const route = table.find(path);
  return route == nullptr ? "none" : route->prefix;
}

std::string problem(RouteConfig bad) {
  const auto made = RouteTable::make({std::move(bad)});
  return made ? "none" : made.error().message;
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

TEST(RouteTable, SaysWhatIsWrongWithARow) {
  RouteConfig bad = row("/x");
  bad.methods = {"GET", "BREW"};
  EXPECT_NE(problem(bad).find("'BREW'"), std::string::npos);
  bad = row("/x");
  bad.scope = "storage:everything";
  EXPECT_NE(problem(bad).find("'storage:everything'"), std::string::npos);
  bad = row("/x");
  bad.scope = "storage:write";
  bad.is_open = true;
  EXPECT_NE(problem(bad).find("open"), std::string::npos);
  EXPECT_NE(problem(row("/x", {"ftp://host"})), "none");
  EXPECT_NE(problem(row("/x", {"http://host:80/base"})), "none");
  EXPECT_NE(problem(row("/x", {"inproc:storage", "http://host:80"})), "none");
}

TEST(RouteTable, GetBringsHead) {
  RouteConfig reading = row("/x");
  reading.methods = {"GET"};
  const auto table = RouteTable::make({reading, row("/all")}).value();
  const Route& route = *table.find("/x");
  EXPECT_TRUE(route.allows(Method::Get));
  EXPECT_TRUE(route.allows(Method::Head));
  EXPECT_FALSE(route.allows(Method::Put));
  EXPECT_EQ(route.allow(), "GET, HEAD");
  EXPECT_TRUE(table.find("/all")->allows(Method::Delete));
  EXPECT_FALSE(table.find("/all")->allows(Method::Other));
}

TEST(RouteTable, UpstreamsAreNamedAfterTheirService) {
  const auto table =
      RouteTable::make({row("/o"), row("/uploads"), row("/api/v1", {"http://a:1", "http://b:1"}),
                        row("/", {"unix:/run/x"}), row("/storage", {"http://c:1"}),
                        row("/api-v1", {"http://d:1"})})
          .value();
  std::vector<std::string> names;
  for (const UpstreamPlan& plan : table.upstreams()) names.push_back(plan.name);
  EXPECT_EQ(names,
            (std::vector<std::string>{"storage", "api-v1", "root", "storage-2", "api-v1-2"}));
  EXPECT_EQ(table.find("/o")->upstream, table.find("/uploads")->upstream) << "one and the same";
  EXPECT_EQ(table.upstreams()[1].members.size(), 2U);
}

TEST(Route, OriginsAreAllowedByNameOrAll) {
  RouteConfig shared = row("/x");
  shared.cors = {"https://app.example"};
  RouteConfig open = row("/y");
  open.cors = {"*"};
  const auto table = RouteTable::make({shared, open, row("/z")}).value();
  EXPECT_TRUE(table.find("/x")->allows_origin("https://app.example"));
  EXPECT_FALSE(table.find("/x")->allows_origin("https://app.example.evil"));
  EXPECT_TRUE(table.find("/y")->allows_origin("null"));
  EXPECT_FALSE(table.find("/z")->allows_origin("https://app.example"));
}

TEST(RouteTable, TheDefaultTableIsGood) {
  const auto table = RouteTable::make(default_routes());
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_EQ(found(*table, "/o/b3:00"), "/o");
  EXPECT_EQ(table->upstreams().size(), 4U);
  EXPECT_EQ(table->find("/edge/assets/example.org/")->deadline, std::chrono::seconds(20))
      << "three tries of an origin fit";
}

}  // namespace
}  // namespace ron::gateway
