#include "cli/tree_check.h"

#include <gtest/gtest.h>

namespace ron::cli {
namespace {

using Walked = WalkedFile::Kind;

WalkedFile entry(Walked kind, std::string relative, std::size_t anchor = 0) {
  WalkedFile file{.kind = kind, .shown = "t/" + relative, .path = {}, .reason = {}, .error = {}};
  file.relative = std::move(relative);
  file.anchor = anchor;
  return file;
}

TEST(TreeCheck, FindsNoFaultInWhatATreeCanHold) {
  EXPECT_FALSE(find_fault(entry(Walked::File, "a/b.html")));
  EXPECT_FALSE(find_fault(entry(Walked::EmptyDirectory, "a")));
  EXPECT_FALSE(find_link_fault(entry(Walked::Link, "a/b"), "../c"));
}

TEST(TreeCheck, WhatATreeHasNoFormForCanBeSkipped) {
  WalkedFile pipe = entry(Walked::Skipped, "pipe");
  pipe.reason = "not a regular file";
  for (const WalkedFile& file : {pipe, entry(Walked::File, "bad\xff"),
                                 entry(Walked::File, ".a.0123456789abcdef.ron-part")}) {
    const auto fault = find_fault(file);
    ASSERT_TRUE(fault) << file.relative;
    EXPECT_TRUE(fault->can_skip) << file.relative;
    EXPECT_FALSE(fault->is_link) << file.relative;
  }
}

TEST(TreeCheck, AFailureCannotBeSkipped) {
  WalkedFile file = entry(Walked::Failed, "");
  file.error = {base::Code::NotAllowed, "the admin token of a server is in it"};
  const auto fault = find_fault(file);
  ASSERT_TRUE(fault);
  EXPECT_FALSE(fault->can_skip);
  EXPECT_EQ(fault->error.message, file.error.message);
}

TEST(TreeCheck, ALinkMustNotLeaveTheDirectoryThatWasFollowed) {
  const std::string_view up = "../c";
  EXPECT_FALSE(find_link_fault(entry(Walked::Link, "linked/b"), up));
  const auto fault = find_link_fault(entry(Walked::Link, "linked/b", 7), up);
  ASSERT_TRUE(fault);
  EXPECT_TRUE(fault->can_skip);
  EXPECT_TRUE(fault->is_link);
}

TEST(TreeFaults, CountsAllAndSaysWhatHelps) {
  TreeFaults faults;
  EXPECT_EQ(faults.summary(false), "");
  faults.add("pipe", {{base::Code::Malformed, "not a regular file"}, true, false});
  EXPECT_EQ(faults.summary(false), "1 entry cannot be in a tree (--allow-skipped leaves it out)");
  for (int i = 0; i < 100; ++i) {
    faults.add("link", {{base::Code::Malformed, "leads out"}, true, true});
  }
  EXPECT_EQ(faults.skippable(), 101U);
  EXPECT_EQ(
      faults.summary(false),
      "101 entries cannot be in a tree (--allow-skipped leaves them out, --follow stores what "
      "links outside lead to)");
  EXPECT_EQ(faults.summary(true), "");
  faults.add("secret", {{base::Code::NotAllowed, "a key"}, false, false});
  EXPECT_EQ(faults.refused(), 1U);
  EXPECT_EQ(faults.summary(true), "1 entry cannot be stored");
}

}  // namespace
}  // namespace ron::cli
