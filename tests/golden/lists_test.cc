// Every route that lists things says what bounds its answer.
#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "app/services.h"
#include "base/units.h"
#include "platform/posix/files.h"
#include "services/kit/list.h"

namespace ron {
namespace {

// GET routes whose answer is one thing, and what bounds that thing. A new GET route fails the test
// below until it stands here or is declared as a list (services/kit/list.h).
const std::set<std::string, std::less<>>& one_thing() {
  static const std::set<std::string, std::less<>> routes = {
      // A fixed document.
      "/healthz", "/readyz", "/version", "/edge/assets/{host}", "/edge/preview",
      "/edge/preview/{pack}", "/edge/preview/-/{file}", "/edge/sites/{site}",
      "/edge/sites/{nothing...}", "/registry/head",
      // One stored thing, streamed or of a bounded size.
      "/o/{addr}", "/edge/assets/{host}/{path...}", "/edge/packs/{pack}",
      "/edge/sites/{site}/{path...}", "/edge/tiles/{pack}", "/edge/tiles/{pack}/{z}/{x}/{y}",
      "/registry/{version}", "/registry/descriptors/{type}/{id}", "/registry/proof/{version}",
      "/registry/proposals/{id}", "/registry/tlog/checkpoint", "/registry/tlog/tile/{tile...}",
      // Numbers about the cache, and nothing of what is in it.
      "/admin/cache",
      // Events, as they come.
      "/registry/stream"};
  return routes;
}

std::vector<const kit::ListDecl*> declared() {
  std::vector<const kit::ListDecl*> all(kit::kAdminLists.begin(), kit::kAdminLists.end());
  for (const app::ServiceEntry& entry : app::services()) {
    all.insert(all.end(), entry.kind->lists.begin(), entry.kind->lists.end());
  }
  return all;
}

bool is_declared(std::string_view pattern) {
  return std::ranges::any_of(declared(),
                             [&](const kit::ListDecl* list) { return list->pattern == pattern; });
}

// The patterns that stand behind `before`, as literals: a list takes its own from its declaration.
void add_literals(std::string_view text, std::string_view before, std::set<std::string>& found) {
  for (std::size_t at = text.find(before); at != std::string_view::npos;
       at = text.find(before, at + 1)) {
    std::string_view rest = text.substr(at + before.size());
    const auto skip = [&rest](std::string_view what) {
      rest.remove_prefix(std::min(rest.find_first_not_of(" \n"), rest.size()));
      if (rest.starts_with(what)) rest.remove_prefix(what.size());
    };
    skip(".pattern =");
    skip("");
    if (!rest.starts_with("\"/")) continue;
    found.emplace(rest.substr(1, rest.find('"', 1) - 1));
  }
}

std::set<std::string> get_routes() {
  std::set<std::string> found;
  const std::string services = std::string(RON_SOURCE_DIR) + "/src/services";
  for (const std::string folder : {"storage", "index", "registry", "edge", "gateway", "kit"}) {
    const auto names = platform::posix::list_directory(services + "/" + folder);
    EXPECT_TRUE(names);
    for (const std::string& name : *names) {
      if (!name.ends_with(".cc") || name.ends_with("_test.cc")) continue;
      const auto text =
          platform::posix::read_small_file(services + "/" + folder + "/" + name, base::kMiB);
      EXPECT_TRUE(text) << name;
      add_literals(*text, "Method::Get,", found);
      add_literals(*text, "add_light(router,", found);
    }
  }
  return found;
}

TEST(Lists, EveryGetRouteIsADeclaredListOrOneThing) {
  const std::set<std::string> routes = get_routes();
  EXPECT_GT(routes.size(), 20U) << "the routes were not found";
  for (const std::string& route : routes) {
    EXPECT_TRUE(is_declared(route) || one_thing().contains(route))
        << "GET " << route << ": declare what bounds its answer in the service's lists.h";
  }
  for (const std::string& route : one_thing()) {
    EXPECT_TRUE(routes.contains(route)) << "GET " << route << " is no route any more";
    EXPECT_FALSE(is_declared(route)) << "GET " << route << " is declared as a list";
  }
}

TEST(Lists, EveryDeclarationSaysItsBound) {
  std::set<std::string_view> patterns;
  for (const kit::ListDecl* list : declared()) {
    SCOPED_TRACE(list->pattern);
    EXPECT_TRUE(patterns.insert(list->pattern).second) << "declared twice";
    EXPECT_FALSE(list->entries.empty());
    EXPECT_FALSE(list->bounded_by.empty());
    EXPECT_LE(list->usual, list->most);
    const bool has_limit = list->query.contains("limit");
    EXPECT_EQ(has_limit, list->usual != 0) << "a list with a limit has a usual one";
  }
}

}  // namespace
}  // namespace ron
