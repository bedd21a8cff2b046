#include "observe/trace_parent.h"

#include <string>

#include <gtest/gtest.h>

#include "base/encoding.h"

namespace ron::observe {
namespace {

constexpr std::string_view kTrace = "0af7651916cd43dd8448eb211c80319c";
constexpr std::string_view kParent = "b7ad6b7169203331";

std::string field(std::string_view version, std::string_view trace, std::string_view parent,
                  std::string_view flags) {
  std::string text(version);
  return text.append("-").append(trace).append("-").append(parent).append("-").append(flags);
}

TEST(TraceParent, IsTakenWithItsIds) {
  const auto parsed = parse_trace_parent(field("00", kTrace, kParent, "01"));
  ASSERT_TRUE(parsed);
  EXPECT_EQ(base::to_hex(parsed->trace_id), kTrace);
  EXPECT_EQ(base::to_hex(parsed->parent_id), kParent);
  EXPECT_TRUE(parsed->sampled);
}

TEST(TraceParent, OnlyTheLowestFlagSaysSampled) {
  for (const char* flags : {"01", "03", "ff", "0b"}) {
    EXPECT_TRUE(parse_trace_parent(field("00", kTrace, kParent, flags))->sampled) << flags;
  }
  for (const char* flags : {"00", "02", "fe", "0a"}) {
    EXPECT_FALSE(parse_trace_parent(field("00", kTrace, kParent, flags))->sampled) << flags;
  }
}

TEST(TraceParent, AnythingElseIsRefused) {
  const std::string zero_trace(32, '0');
  const std::string zero_parent(16, '0');
  const std::string upper_trace = "0AF7651916CD43DD8448EB211C80319C";
  const std::string good = field("00", kTrace, kParent, "01");
  const std::vector<std::string> refused = {
      "",
      "00",
      "00-",
      field("01", kTrace, kParent, "01"),
      field("ff", kTrace, kParent, "01"),
      field("0", kTrace, kParent, "001"),
      field("00", zero_trace, kParent, "01"),
      field("00", kTrace, zero_parent, "01"),
      field("00", upper_trace, kParent, "01"),
      field("00", kTrace, "B7AD6B7169203331", "01"),
      field("00", kTrace, kParent, "0A"),
      field("00", kTrace, kParent, "0g"),
      field("00", kTrace, kParent, "1"),
      field("00", kTrace, kParent, "011"),
      field("00", "0af7651916cd43dd8448eb211c80319g", kParent, "01"),
      field("00", kTrace.substr(1), kParent, "011"),
      field("00", kTrace, "b7ad6b716920333", "011"),
      good + "-later",
      good + " ",
      " " + good,
      good + std::string(1, '\0'),
      good.substr(0, 35) + "_" + good.substr(36),
      good.substr(0, 52) + "_" + good.substr(53),
  };
  for (const std::string& text : refused) EXPECT_FALSE(parse_trace_parent(text)) << text;
  EXPECT_TRUE(parse_trace_parent(good));
}

}  // namespace
}  // namespace ron::observe
