// The map preview as browsers get it.
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "services/edge/preview.h"
#include "services/edge/test_packs.h"

namespace ron::edge {
namespace {

using http::test::Answer;

constexpr const char* kBrowser = "Accept: text/html,application/xhtml+xml,*/*;q=0.8\r\n";

class PreviewRoutes : public testing::EdgePacks {
 protected:
  void SetUp() override {
    ASSERT_FALSE(WebFiles::built_in().empty()) << "RON_PREVIEW=OFF is for builds without tests";
    write("/maps", "world.pmtiles", "one");
    start({}, "[[edge.packs]]\nname = \"world\"\npath = \"/maps/world.pmtiles\"\n");
  }
  // The address of the first file in the page whose name begins so.
  std::string file(const std::string& beginning) {
    const std::string page = get("/edge/preview/world").body;
    const std::size_t at = page.find("-/" + beginning);
    EXPECT_NE(at, std::string::npos) << beginning;
    return "/edge/preview/" + page.substr(at, page.find('"', at) - at);
  }
};

void expect_strict(const Answer& answer) {
  EXPECT_TRUE(answer.says(
      "Content-Security-Policy: default-src 'none'; script-src 'self'; worker-src 'self'; "
      "style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; base-uri 'none'; "
      "form-action 'none'; frame-ancestors 'none'"));
  EXPECT_TRUE(answer.says("Referrer-Policy: no-referrer"));
}

TEST_F(PreviewRoutes, ThePageKnowsItsPack) {
  const Answer answer = get("/edge/preview/world", kBrowser);
  EXPECT_EQ(answer.status, 200);
  EXPECT_TRUE(answer.says("Content-Type: text/html;charset=utf-8"));
  EXPECT_TRUE(answer.says("Cache-Control: no-cache"));
  expect_strict(answer);
  EXPECT_NE(answer.body.find(R"(data-pack="world" data-format="pmtiles" data-tiles="mvt")"),
            std::string::npos);
  EXPECT_EQ(answer.body.find("{{"), std::string::npos) << "all is filled in";
  EXPECT_EQ(answer.body.find("<script>"), std::string::npos) << "the policy would not run it";
  EXPECT_EQ(answer.body.find("style="), std::string::npos);
}

TEST_F(PreviewRoutes, ThePageIsNotSentAgainToWhoHasIt) {
  const Answer first = get("/edge/preview/world", kBrowser);
  const std::size_t at = first.head.find("ETag: ");
  ASSERT_NE(at, std::string::npos);
  const std::string tag = first.head.substr(at + 6, first.head.find('\r', at) - at - 6);
  const Answer again = get("/edge/preview/world", "If-None-Match: " + tag + "\r\n");
  EXPECT_EQ(again.status, 304);
  expect_strict(again);
}

TEST_F(PreviewRoutes, AMissingPackIsAPageForBrowsersAndAnEnvelopeForOthers) {
  const Answer page = get("/edge/preview/mars", kBrowser);
  EXPECT_EQ(page.status, 404);
  EXPECT_TRUE(page.says("Content-Type: text/html;charset=utf-8"));
  EXPECT_NE(page.body.find(R"(data-pack="mars" data-format="" )"), std::string::npos);
  expect_strict(page);
  const Answer envelope = get("/edge/preview/mars");
  EXPECT_EQ(envelope.status, 404);
  EXPECT_NE(envelope.body.find(R"("code":"NotFound")"), std::string::npos);
}

TEST_F(PreviewRoutes, WhatWasAskedForNeverBecomesMarkup) {
  const Answer page =
      get("/edge/preview/%22%3E%3Cimg%20src=x%20onerror=alert(1)%3E&%7B%7Btiles%7D%7D", kBrowser);
  EXPECT_EQ(page.status, 404);
  EXPECT_EQ(page.body.find("<img"), std::string::npos);
  const std::string_view escaped =
      R"(data-pack="&quot;&gt;&lt;img src=x onerror=alert(1)&gt;&amp;{{tiles}}")";
  EXPECT_NE(page.body.find(escaped), std::string::npos) << page.body.substr(0, 200);
}

TEST_F(PreviewRoutes, APackThatCouldNotBeMountedSaysSo) {
  write("/maps", "broken.pmtiles", "bad bytes");
  start({}, "[[edge.packs]]\nname = \"broken\"\npath = \"/maps/broken.pmtiles\"\n");
  EXPECT_EQ(get("/edge/preview/broken", kBrowser).status, 503);
  EXPECT_EQ(get("/edge/preview/broken").status, 503);
}

TEST_F(PreviewRoutes, FilesAreKeptForEverUnderTheirHash) {
  const Answer script = get(file("preview."));
  EXPECT_EQ(script.status, 200);
  EXPECT_TRUE(script.says("Cache-Control: public, max-age=31536000, immutable"));
  EXPECT_TRUE(script.says("Vary: Accept-Encoding"));
  expect_strict(script);
  EXPECT_TRUE(get(file("maplibre-gl-csp.")).says("Content-Type: text/javascript;charset=utf-8"));
  EXPECT_TRUE(get(file("maplibre-gl.")).says("Content-Type: text/css;charset=utf-8"));
  EXPECT_TRUE(get(file("icon.")).says("Content-Type: image/svg+xml"));
  for (const char* name : {"preview.js", "preview.html", "nothing.js"}) {
    EXPECT_EQ(get(std::string("/edge/preview/-/") + name).status, 404) << name;
  }
}

TEST_F(PreviewRoutes, FilesComeInTheCodingTheClientLikesBest) {
  const std::string script = file("pmtiles.");
  const Answer plain = get(script);
  EXPECT_EQ(plain.head.find("Content-Encoding"), std::string::npos);
  const Answer brotli = get(script, "Accept-Encoding: gzip, deflate, br, zstd\r\n");
  EXPECT_TRUE(brotli.says("Content-Encoding: br"));
  const Answer gzip = get(script, "Accept-Encoding: gzip, br;q=0.5\r\n");
  EXPECT_TRUE(gzip.says("Content-Encoding: gzip"));
  EXPECT_LT(brotli.body.size(), gzip.body.size());
  EXPECT_LT(gzip.body.size(), plain.body.size());
  EXPECT_EQ(get(script, "Accept-Encoding: zstd\r\n").body, plain.body);
  const Answer head = ask("HEAD", script, "Accept-Encoding: br\r\n");
  EXPECT_EQ(head.status, 200);
  EXPECT_TRUE(head.says("Content-Length: " + std::to_string(brotli.body.size())));
}

TEST_F(PreviewRoutes, EachCodingHasATagOfItsOwn) {
  const std::string script = file("pmtiles.");
  const std::string hash = script.substr(script.find('.') + 1, 16);
  EXPECT_EQ(get(script, "If-None-Match: \"" + hash + "\"\r\n").status, 304);
  const std::string brotli = "Accept-Encoding: br\r\n";
  EXPECT_EQ(get(script, brotli + "If-None-Match: \"" + hash + "\"\r\n").status, 200);
  EXPECT_EQ(get(script, brotli + "If-None-Match: \"" + hash + "-br\"\r\n").status, 304);
  const Answer part = get(script, "Range: bytes=0-9\r\n");
  EXPECT_EQ(part.status, 206);
  EXPECT_EQ(part.body, get(script).body.substr(0, 10));
}

TEST(Preview, ABuildWithoutItSaysSo) {
  const std::string text = "GET /edge/preview/world HTTP/1.1\r\nHost: maps.example\r\n\r\n";
  http::RequestHead head;
  ASSERT_EQ(http::parse_head(text, head).progress, http::Progress::Done);
  http::Request request;
  request.head = &head;
  const WebFiles none;
  const auto expect_none = [](const http::Response& answer) {
    EXPECT_EQ(answer.status, 404);
    EXPECT_NE(base::as_text(answer.bytes()).find("built without the map preview"),
              std::string_view::npos);
  };
  expect_none(preview_page(request, none, {.name = "world"}));
  expect_none(preview_file(request, none, "preview.js"));
  expect_none(preview_refusal(request, none, "mars", {base::Code::NotFound, "no pack"}));
}

}  // namespace
}  // namespace ron::edge
