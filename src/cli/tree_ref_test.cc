#include "cli/tree_ref.h"

#include <gtest/gtest.h>

namespace ron::cli {
namespace {

std::string shown(std::string_view text) {
  const auto found = readings(text);
  if (!found) return "refused: " + found.error().message;
  std::string out;
  for (const Reading& reading : *found) {
    out += (out.empty() ? "" : " | ") + reading.ref.text() + " : " + reading.path;
  }
  return out;
}

TEST(Readings, TryTheLongestNameFirst) {
  EXPECT_EQ(shown("docs"), "docs : ");
  EXPECT_EQ(shown("docs/v2"), "docs/v2 :  | docs : v2");
  EXPECT_EQ(shown("docs/v2/a/b.css"),
            "docs/v2/a/b.css :  | docs/v2/a : b.css | docs/v2 : a/b.css | docs : v2/a/b.css");
}

TEST(Readings, TakeAVersionWhereItStands) {
  EXPECT_EQ(shown("docs/v2@3"), "docs/v2@3 :  | docs : v2@3");
  EXPECT_EQ(shown("docs@3/css"), "docs@3 : css");
  EXPECT_EQ(shown("docs/v2@3/css"), "docs/v2@3/css :  | docs/v2@3 : css | docs : v2@3/css");
  EXPECT_EQ(readings("docs/v2@3/css")->at(1).ref.version, 3U);
}

TEST(Readings, DropOneSlashAtTheEnd) {
  EXPECT_EQ(shown("docs/v2/"), shown("docs/v2"));
  EXPECT_TRUE(shown("docs/v2//").starts_with("refused: "));
}

TEST(Readings, SayWhatIsWrong) {
  EXPECT_TRUE(shown("").starts_with("refused: a name begins with a namespace"));
  EXPECT_TRUE(shown("Docs/v2").starts_with("refused: a name begins with a namespace"));
  EXPECT_EQ(shown("docs/../x"), "refused: the name has the segment '..'");
  EXPECT_EQ(shown("docs/v2/../../x"), "refused: the name has the segment '..'");
  EXPECT_EQ(shown("/docs"), shown(""));
}

// What cannot be a name can still be a path: names are shorter and know no backslashes.
TEST(Readings, LeaveToPathsWhatNamesCannotHave) {
  EXPECT_EQ(shown("docs/a\\b"), "docs : a\\b");
  const std::string longest = "docs/" + std::string(200, 'x') + "/" + std::string(200, 'y') + "/" +
                              std::string(200, 'z') + "/" + std::string(200, 'w') + "/" +
                              std::string(250, 'v');
  EXPECT_FALSE(shown(longest).starts_with(longest + " : "));
  EXPECT_TRUE(shown(longest).ends_with("docs : " + longest.substr(5)));
}

}  // namespace
}  // namespace ron::cli
