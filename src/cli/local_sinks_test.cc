#include "cli/local_sinks.h"

#include <gtest/gtest.h>

namespace ron::cli {
namespace {

using namespace std::string_view_literals;

TEST(IsBinary, TextOfAnyLanguageIsNone) {
  for (const std::string_view text : {""sv, "plain\n"sv, "tab\tand\r\n"sv,
                                      "Gr\xC3\xB6\xC3\x9F"
                                      "e"sv}) {
    EXPECT_FALSE(is_binary(base::as_bytes(text))) << text;
  }
}

TEST(IsBinary, WhatATerminalWouldObeyIs) {
  for (const std::string_view text : {"\0"sv, "a\x1b[31m"sv, "bell\a"sv, "\x7f"sv}) {
    EXPECT_TRUE(is_binary(base::as_bytes(text)));
  }
}

TEST(PartPath, IsBesideTheFileAndNamesTheObject) {
  const base::ObjectId id = *base::ObjectId::parse("b3:" + std::string(64, 'a'));
  EXPECT_EQ(part_path("dir/file", id), "dir/.file.aaaaaaaaaaaaaaaa.ron-part");
  EXPECT_EQ(part_path(std::string(250, 'x'), id), "." + std::string(64, 'a') + ".ron-part");
}

TEST(IsPartPath, KnowsThemByTheirNames) {
  const base::ObjectId id = *base::ObjectId::parse("b3:" + std::string(64, 'a'));
  EXPECT_TRUE(is_part_path(part_path("dir/file", id)));
  EXPECT_TRUE(is_part_path(part_path(std::string(250, 'x'), id)));
  EXPECT_FALSE(is_part_path("dir/file"));
  EXPECT_FALSE(is_part_path("dir/file.ron-part"));
  EXPECT_FALSE(is_part_path(".x.ron-part/file"));
}

}  // namespace
}  // namespace ron::cli
