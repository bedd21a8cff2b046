#include "services/edge/web_files.h"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace ron::edge {
namespace {

constexpr std::string_view kBundle =
    "ron-web 1\n"
    "a.js text/javascript aa 5 3 2\n"
    "b.css text/css bb 4 0 0\n"
    "\n"
    "plainGZPBRbody";

base::Result<WebFiles> parse(std::string_view bundle) {
  return WebFiles::parse(base::as_bytes(bundle));
}

TEST(WebFiles, FilesAreFoundByNameWithTheirCodings) {
  const auto files = parse(kBundle);
  ASSERT_TRUE(files) << files.error().message;
  const WebFile* const script = files->find("a.js");
  ASSERT_NE(script, nullptr);
  EXPECT_EQ(script->media_type, "text/javascript");
  EXPECT_EQ(script->tag, "aa");
  EXPECT_EQ(base::as_text(script->plain), "plain");
  EXPECT_EQ(base::as_text(script->gzip), "GZP");
  EXPECT_EQ(base::as_text(script->brotli), "BR");
  const WebFile* const sheet = files->find("b.css");
  ASSERT_NE(sheet, nullptr);
  EXPECT_EQ(base::as_text(sheet->plain), "body");
  EXPECT_TRUE(sheet->gzip.empty());
  EXPECT_EQ(files->find("a"), nullptr);
  EXPECT_EQ(files->find(""), nullptr);
}

TEST(WebFiles, ABundleThatIsWrongAnywhereIsRefused) {
  for (std::size_t length = 0; length < kBundle.size(); ++length) {
    EXPECT_FALSE(parse(kBundle.substr(0, length))) << length;
  }
  EXPECT_FALSE(parse(std::string(kBundle) + "x"));
  EXPECT_FALSE(parse("ron-web 2\n\n"));
  EXPECT_FALSE(parse("ron-web 1\na.js text/javascript aa 5 0\n\nplain"));
  EXPECT_FALSE(parse("ron-web 1\na.js text/javascript aa -5 0 0\n\nplain"));
  EXPECT_FALSE(parse("ron-web 1\na.js text/javascript aa 18446744073709551615 1 0\n\nplain"));
  EXPECT_TRUE(parse("ron-web 1\n\n")) << "none is not wrong";
}

TEST(WebFiles, TheBuildsOwnHaveThePageAndWhatItNames) {
  const WebFiles& files = WebFiles::built_in();
  ASSERT_FALSE(files.empty()) << "RON_PREVIEW=OFF is for builds without tests";
  const WebFile* const page = files.find("preview.html");
  ASSERT_NE(page, nullptr);
  std::string_view text = base::as_text(page->plain);
  int named = 0;
  for (std::size_t at = text.find("\"-/"); at != std::string_view::npos; at = text.find("\"-/")) {
    text.remove_prefix(at + 3);
    const std::string_view name = text.substr(0, text.find('"'));
    const WebFile* const file = files.find(name);
    ASSERT_NE(file, nullptr) << name;
    EXPECT_NE(name.find(file->tag), std::string_view::npos) << "its name changes with it: " << name;
    EXPECT_FALSE(file->brotli.empty()) << name;
    EXPECT_LT(file->brotli.size(), file->plain.size()) << name;
    ++named;
  }
  EXPECT_GE(named, 8);
}

}  // namespace
}  // namespace ron::edge
