#include "http/conditional.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace ron::http {
namespace {

constexpr EntityTag kCurrent{"b3:aa", false};

TEST(EntityTag, ParsesStrongAndWeak) {
  EXPECT_EQ(parse_entity_tag("\"a\""), (EntityTag{"a", false}));
  EXPECT_EQ(parse_entity_tag("W/\"a,b\""), (EntityTag{"a,b", true}));
  EXPECT_EQ(parse_entity_tag("\"\""), (EntityTag{"", false}));
  for (const std::string_view bad :
       {"", "a", "\"", "\"a", "a\"", "w/\"a\"", "W/ \"a\"", "W/", "\"a\"b", "\"a b\"", "\"a\" ",
        "*", "Sun, 06 Nov 1994 08:49:37 GMT"}) {
    EXPECT_EQ(parse_entity_tag(bad), std::nullopt) << bad;
  }
}

TEST(EntityTag, ComparesAsTheRfcTableSays) {
  const EntityTag weak1{"1", true};
  const EntityTag weak2{"2", true};
  const EntityTag strong1{"1", false};
  EXPECT_FALSE(strong_match(weak1, weak1));
  EXPECT_TRUE(weak_match(weak1, weak1));
  EXPECT_FALSE(weak_match(weak1, weak2));
  EXPECT_FALSE(strong_match(weak1, strong1));
  EXPECT_TRUE(weak_match(weak1, strong1));
  EXPECT_TRUE(strong_match(strong1, strong1));
}

TEST(ListMatches, ReadsListsAndStars) {
  struct Case {
    std::string_view list;
    bool strong;
    bool weak;
  };
  for (const Case& each : std::vector<Case>{{"*", true, true},
                                            {" * ", true, true},
                                            {"\"b3:aa\"", true, true},
                                            {"W/\"b3:aa\"", false, true},
                                            {"\"x\", \"b3:aa\"", true, true},
                                            {"\"x\",\"b3:aa\",\"y\"", true, true},
                                            {", ,\"b3:aa\" ,\t", true, true},
                                            {"\"x\"", false, false},
                                            {"\"x,\", \"b3:aa,\"", false, false},
                                            {"", false, false},
                                            {"b3:aa", false, false},
                                            {"\"b3:aa\" \"x\"", false, false},
                                            {"\"b3:aa\", x", false, false},
                                            {"\"b3:aa\", *", false, false},
                                            {"*, \"b3:aa\"", false, false},
                                            {"\"b3:aa", false, false},
                                            {"\"b3:AA\"", false, false}}) {
    EXPECT_EQ(list_matches(each.list, kCurrent, TagMatch::Strong), each.strong) << each.list;
    EXPECT_EQ(list_matches(each.list, kCurrent, TagMatch::Weak), each.weak) << each.list;
    EXPECT_FALSE(list_matches(each.list, std::nullopt, TagMatch::Weak)) << each.list;
  }
}

TEST(ListMatches, FindsATagWhereverItStands) {
  EXPECT_TRUE(rc::check("position does not matter", [] {
    const auto before = *rc::gen::inRange(0, 20);
    const auto behind = *rc::gen::inRange(0, 20);
    std::string list;
    for (int i = 0; i < before; ++i) list += "\"o,ther\" , ";
    list += "\"b3:aa\"";
    for (int i = 0; i < behind; ++i) list += ",W/\"\"";
    RC_ASSERT(list_matches(list, kCurrent, TagMatch::Strong));
    RC_ASSERT(!list_matches(list + "x", kCurrent, TagMatch::Strong));
  }));
}

Verdict verdict(std::string_view method, std::string_view fields, bool exists = true) {
  const std::string text =
      std::string(method) + " / HTTP/1.1\r\nHost: a\r\n" + std::string(fields) + "\r\n";
  RequestHead head;
  EXPECT_EQ(parse_head(text, head).progress, Progress::Done) << text;
  return evaluate(head, exists ? std::optional(kCurrent) : std::nullopt);
}

TEST(Evaluate, FollowsTheRfcOrder) {
  using enum Verdict;
  struct Case {
    std::string_view method;
    std::string_view fields;
    bool exists;
    Verdict expected;
  };
  for (const Case& each : std::vector<Case>{
           {"GET", "", true, Proceed},
           {"GET", "If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT\r\n", true, Proceed},
           {"GET", "If-None-Match: \"b3:aa\"\r\n", true, NotModified},
           {"HEAD", "If-None-Match: W/\"b3:aa\"\r\n", true, NotModified},
           {"PUT", "If-None-Match: \"b3:aa\"\r\n", true, PreconditionFailed},
           {"PUT", "If-None-Match: *\r\n", true, PreconditionFailed},
           {"PUT", "If-None-Match: *\r\n", false, Proceed},
           {"GET", "If-None-Match: \"x\"\r\n", true, Proceed},
           {"GET", "If-None-Match: \"x\"\r\nif-none-match: \"b3:aa\"\r\n", true, NotModified},
           {"GET", "If-Match: \"b3:aa\"\r\n", true, Proceed},
           {"GET", "If-Match: W/\"b3:aa\"\r\n", true, PreconditionFailed},
           {"GET", "If-Match: \"x\"\r\n", true, PreconditionFailed},
           {"GET", "If-Match: broken\r\n", true, PreconditionFailed},
           {"PUT", "If-Match: *\r\n", false, PreconditionFailed},
           {"GET", "If-Match: \"x\"\r\nIf-None-Match: \"b3:aa\"\r\n", true, PreconditionFailed},
           {"GET", "If-Match: *\r\nIf-None-Match: \"b3:aa\"\r\n", true, NotModified},
           {"GET", "Range: bytes=0-1\r\nIf-Range: \"b3:aa\"\r\n", true, Proceed},
           {"GET", "Range: bytes=0-1\r\nIf-Range: \"x\"\r\n", true, IgnoreRange},
           {"GET", "Range: bytes=0-1\r\nIf-Range: W/\"b3:aa\"\r\n", true, IgnoreRange},
           {"GET", "Range: bytes=0-1\r\nIf-Range: Sun, 06 Nov 1994 08:49:37 GMT\r\n", true,
            IgnoreRange},
           {"GET", "Range: bytes=0-1\r\nIf-Range: \"b3:aa\"\r\n", false, IgnoreRange},
           {"GET", "If-Range: \"x\"\r\n", true, Proceed},
           {"GET", "Range: bytes=0-1\r\nIf-Range: \"x\"\r\nIf-None-Match: \"b3:aa\"\r\n", true,
            NotModified}}) {
    EXPECT_EQ(verdict(each.method, each.fields, each.exists), each.expected) << each.method << "\n"
                                                                             << each.fields;
  }
}

}  // namespace
}  // namespace ron::http
