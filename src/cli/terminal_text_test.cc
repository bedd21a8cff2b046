#include "cli/terminal_text.h"

#include <gtest/gtest.h>

namespace ron::cli {
namespace {

TEST(TerminalText, NamesOfPlacesAreReadable) {
  EXPECT_EQ(for_terminal("C\xC3\xB4te d'Ivoire, \xE4\xB8\x9C\xE4\xBA\xAC \xF0\x9F\x97\xBA", 100),
            "C\xC3\xB4te d'Ivoire, \xE4\xB8\x9C\xE4\xBA\xAC \xF0\x9F\x97\xBA");
  EXPECT_EQ(for_terminal("\xC2\xA0\xE2\x80\x93\xE2\x82\xAC", 100),
            "\xC2\xA0\xE2\x80\x93\xE2\x82\xAC");
}

TEST(TerminalText, NothingActsOnTheTerminal) {
  EXPECT_EQ(for_terminal("\x1b[31m\r\n\x7f", 100), "\\x1b[31m\\x0d\\x0a\\x7f");
  EXPECT_EQ(for_terminal("\xC2\x9B", 100), "\\xc2\\x9b");
  EXPECT_EQ(for_terminal("\xE2\x80\xAE\xE2\x81\xA6\xE2\x80\xA8", 100),
            "\\xe2\\x80\\xae\\xe2\\x81\\xa6\\xe2\\x80\\xa8");
  EXPECT_EQ(for_terminal("\xC3(\xFF\xED\xA0\x80", 100), "\\xc3(\\xff\\xed\\xa0\\x80");
}

TEST(TerminalText, IsCutBetweenCharacters) {
  EXPECT_EQ(for_terminal("abc", 3), "abc");
  EXPECT_EQ(for_terminal("abcd", 3), "abc...");
  EXPECT_EQ(for_terminal("ab\xC3\xB4", 3), "ab...");
  EXPECT_EQ(for_terminal("ab\xC3\xB4", 4), "ab\xC3\xB4");
}

}  // namespace
}  // namespace ron::cli
