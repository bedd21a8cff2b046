#include "http/range.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace ron::http {
namespace {

constexpr std::uint64_t kMax = UINT64_MAX;

std::string show(std::string_view value, std::uint64_t size) {
  const RangeOutcome outcome = parse_range(value, size);
  switch (outcome.kind) {
    case RangeKind::None:
      return "none";
    case RangeKind::Unsatisfiable:
      return "416";
    case RangeKind::Malformed:
      return "400";
    case RangeKind::Satisfiable:
      break;
  }
  return std::to_string(outcome.range.first) + "-" + std::to_string(outcome.range.last);
}

TEST(ParseRange, ResolvesOneRange) {
  struct Case {
    std::string_view value;
    std::uint64_t size;
    std::string_view expected;
  };
  for (const Case& each : std::vector<Case>{
           {"bytes=0-0", 1, "0-0"},
           {"bytes=0-4", 10, "0-4"},
           {"bytes=5-", 10, "5-9"},
           {"bytes=5-100", 10, "5-9"},
           {"bytes=9-9", 10, "9-9"},
           {"bytes=10-", 10, "416"},
           {"bytes=10-20", 10, "416"},
           {"bytes=-3", 10, "7-9"},
           {"bytes=-10", 10, "0-9"},
           {"bytes=-11", 10, "0-9"},
           {"bytes=-0", 10, "416"},
           {"bytes=0-", 0, "416"},
           {"bytes=0-0", 0, "416"},
           {"bytes=-1", 0, "none"},
           {"bytes=-0", 0, "416"},
           {"Bytes=0-4", 10, "0-4"},
           {"bytes= 0-4 ", 10, "0-4"},
           {"bytes=,0-4,", 10, "0-4"},
           {"bytes=00000000000000000000000001-2", 10, "1-2"},
           {"bytes=0-18446744073709551615", 10, "0-9"},
           {"bytes=0-99999999999999999999999", 10, "0-9"},
           {"bytes=99999999999999999999999-", 10, "416"},
           {"bytes=18446744073709551615-", kMax, "416"},
           {"bytes=18446744073709551614-", kMax, "18446744073709551614-18446744073709551614"},
           {"bytes=-99999999999999999999999", 10, "0-9"},
           {"bytes=-18446744073709551615", kMax, "0-18446744073709551614"}}) {
    EXPECT_EQ(show(each.value, each.size), each.expected) << each.value << " of " << each.size;
  }
}

TEST(ParseRange, IgnoresOtherUnitsAndSeveralRanges) {
  for (const std::string_view value : {"items=0-1", "x=", "bytes=0-1,3-4", "bytes=0-1, -1"}) {
    EXPECT_EQ(show(value, 10), "none") << value;
  }
}

TEST(ParseRange, RefusesWhatCannotBeParsed) {
  for (const std::string_view value :
       {"", "bytes", "bytes=", "bytes=,", "bytes=-", "bytes=a-b", "bytes=1", "bytes=5-2",
        "bytes=1-2-3", "bytes=--1", "bytes=+1-2", "bytes=1 - 2", "bytes =0-1", "=0-1",
        "bytes=0x0-1", "bytes=0-1,a", "bytes=0-1;2-3", "bytes=1-a", "bytes=-a"}) {
    EXPECT_EQ(show(value, 10), "400") << value;
  }
}

TEST(ParseRange, NeverLeavesTheObject) {
  EXPECT_TRUE(rc::check("first <= last < size, and as asked", [](std::uint64_t first,
                                                                 std::uint64_t last,
                                                                 std::uint64_t size) {
    const std::string a = std::to_string(first);
    const std::string b = std::to_string(last);
    for (const std::string& text : {"bytes=" + a + "-" + b, "bytes=" + a + "-", "bytes=-" + b}) {
      const RangeOutcome outcome = parse_range(text, size);
      if (outcome.kind != RangeKind::Satisfiable) continue;
      RC_ASSERT(outcome.range.first <= outcome.range.last);
      RC_ASSERT(outcome.range.last < size);
    }
    const RangeOutcome outcome = parse_range("bytes=" + a + "-" + b, size);
    RC_ASSERT((outcome.kind == RangeKind::Malformed) == (last < first));
    if (outcome.kind == RangeKind::Satisfiable) {
      RC_ASSERT(outcome.range == (ByteRange{first, std::min(last, size - 1)}));
    }
  }));
}

TEST(ContentRange, Prints) {
  ContentRangeText text;
  EXPECT_EQ(print_content_range({0, 9}, 20, text), "bytes 0-9/20");
  EXPECT_EQ(print_content_range({kMax, kMax}, kMax, text),
            "bytes 18446744073709551615-18446744073709551615/18446744073709551615");
  EXPECT_EQ(print_unsatisfied_range(0, text), "bytes */0");
  EXPECT_EQ((ByteRange{3, 5}).length(), 3u);
}

}  // namespace
}  // namespace ron::http
