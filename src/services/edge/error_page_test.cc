#include "services/edge/error_page.h"

#include <gtest/gtest.h>

#include "services/edge/test_sites.h"

namespace ron::edge {
namespace {

using testing::EdgeSites;

constexpr const char* kBrowser = "Accept: text/html,application/xhtml+xml,*/*;q=0.8\r\n";

TEST(ErrorPage, EscapesWhatItIsTold) {
  const std::string page = error_page(404, "<script>\"'&", "01M7J1XQ5XQGJN42QJGSQ0VEFD");
  EXPECT_NE(page.find("&lt;script&gt;&quot;&#39;&amp;"), std::string::npos) << page;
  EXPECT_EQ(page.find("<script"), std::string::npos);
  EXPECT_NE(page.find("<h1>404 Not found</h1>"), std::string::npos);
}

TEST_F(EdgeSites, BrowsersGetErrorsAsAPage) {
  set_name("docs", {{"index.html", "one"}});
  start({}, "[[edge.sites]]\nname = \"s\"\ntarget = \"docs\"\n");
  for (const char* path : {"s/none", "none/index.html"}) {
    const auto page = get(path, kBrowser);
    EXPECT_EQ(page.status, 404);
    EXPECT_TRUE(page.says("Content-Type: text/html;charset=utf-8")) << page.head;
    EXPECT_TRUE(page.says("Vary: Accept"));
    EXPECT_NE(page.head.find("Content-Security-Policy: default-src 'none';"), std::string::npos);
    EXPECT_EQ(page.head.find("application/json"), std::string::npos);
    EXPECT_TRUE(page.body.starts_with("<!doctype html>"));
  }
}

TEST_F(EdgeSites, ProgramsGetErrorsAsTheEnvelope) {
  set_name("docs", {{"index.html", "one"}});
  start({}, "[[edge.sites]]\nname = \"s\"\ntarget = \"docs\"\n");
  for (const char* accept :
       {"", "Accept: */*\r\n", "Accept: application/json\r\n", "Accept: text/html;q=0\r\n",
        "Accept: text/html;q=0.5, application/json\r\n"}) {
    const auto answer = get("s/none", accept);
    EXPECT_EQ(answer.status, 404);
    EXPECT_TRUE(answer.says("Content-Type: application/json")) << accept << answer.head;
    EXPECT_TRUE(answer.body.starts_with("{\"error\":")) << answer.body;
  }
}

}  // namespace
}  // namespace ron::edge
