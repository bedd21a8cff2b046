#include "http/selection.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace ron::http {
namespace {

using Kind = Selection::Kind;

constexpr EntityTag kTag{"b3:aa", false};

Selection selected(std::string_view method, std::string_view fields, std::uint64_t length = 100) {
  const std::string text =
      std::string(method) + " / HTTP/1.1\r\nHost: a\r\n" + std::string(fields) + "\r\n";
  RequestHead head;
  EXPECT_EQ(parse_head(text, head).progress, Progress::Done) << text;
  return select(head, kTag, length);
}

TEST(Select, ConditionsComeBeforeTheRange) {
  struct Case {
    std::string_view method;
    std::string_view fields;
    Selection expected;
  };
  for (const Case& each : std::vector<Case>{
           {"GET", "", {Kind::Whole, 0, 100}},
           {"GET", "Range: bytes=10-19\r\n", {Kind::Part, 10, 10}},
           {"GET", "Range: bytes=-30\r\n", {Kind::Part, 70, 30}},
           {"GET", "Range: bytes=90-\r\n", {Kind::Part, 90, 10}},
           {"GET", "Range: bytes=100-\r\n", {Kind::Unsatisfiable}},
           {"GET", "Range: bytes=x\r\n", {Kind::Malformed}},
           {"GET", "Range: pages=1-2\r\n", {Kind::Whole, 0, 100}},
           {"HEAD", "Range: bytes=10-19\r\n", {Kind::Whole, 0, 100}},
           {"HEAD", "Range: bytes=100-\r\n", {Kind::Whole, 0, 100}},
           {"GET", "If-None-Match: \"b3:aa\"\r\nRange: bytes=100-\r\n", {Kind::NotModified}},
           {"GET", "If-Match: \"x\"\r\nRange: bytes=1-2\r\n", {Kind::PreconditionFailed}},
           {"GET", "If-Range: \"b3:aa\"\r\nRange: bytes=1-2\r\n", {Kind::Part, 1, 2}},
           {"GET", "If-Range: \"x\"\r\nRange: bytes=1-2\r\n", {Kind::Whole, 0, 100}}}) {
    EXPECT_EQ(selected(each.method, each.fields), each.expected)
        << each.method << " " << each.fields;
  }
}

TEST(Select, NothingOfAnEmptyThingIsAPart) {
  EXPECT_EQ(selected("GET", "Range: bytes=-1\r\n", 0), (Selection{Kind::Whole, 0, 0}));
  EXPECT_EQ(selected("GET", "Range: bytes=0-\r\n", 0).kind, Kind::Unsatisfiable);
}

}  // namespace
}  // namespace ron::http
