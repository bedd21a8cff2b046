#include "observe/log_format.h"

#include <limits>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <rapidcheck.h>

namespace ron::observe {
namespace {

using nlohmann::json;

std::string line(LogFormat format, const LineHead& head, std::initializer_list<Field> fields = {}) {
  LineBuffer out;
  format_line(out, format, head, fields);
  return std::string(out.view());
}

LineHead head_at(std::int64_t unix_ms) {
  return {unix_ms, Level::kInfo, "svc-storage", "listener up", {}};
}

std::string time_of(std::int64_t unix_ms) {
  return json::parse(line(LogFormat::kJson, head_at(unix_ms)))["time"];
}

std::string without_replacements(std::string text) {
  for (std::size_t at = 0; (at = text.find("\xEF\xBF\xBD", at)) != std::string::npos;) {
    text.erase(at, 3);
  }
  return text;
}

// What is left of `text` without the bytes that are not UTF-8, according to another library.
std::string valid_part(const std::string& text) {
  const std::string dumped = json(text).dump(-1, ' ', false, json::error_handler_t::ignore);
  return without_replacements(json::parse(dumped).get<std::string>());
}

bool is_one_printable_line(std::string_view text) {
  if (text.empty() || text.back() != '\n') return false;
  text.remove_suffix(1);
  return std::ranges::none_of(
      text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; });
}

TEST(LogFormat, JsonLineHasEveryPart) {
  const LineHead head{1469922850259, Level::kWarn, "svc-storage", "slow disk",
                      "01ARZ3NDEKTSV4RRFFQ69G5FAV"};
  EXPECT_EQ(line(LogFormat::kJson, head,
                 {{"volume", "a b"},
                  {"wait_ms", -12},
                  {"bytes", std::numeric_limits<std::uint64_t>::max()},
                  {"load", 0.5},
                  {"retry", true},
                  {"token", redacted(0xDEADBEEFU)}}),
            "{\"time\":\"2016-07-30T23:54:10.259Z\",\"level\":\"warn\",\"service\":\"svc-storage\","
            "\"msg\":\"slow disk\",\"corr_id\":\"01ARZ3NDEKTSV4RRFFQ69G5FAV\",\"volume\":\"a b\","
            "\"wait_ms\":-12,\"bytes\":18446744073709551615,\"load\":0.5,\"retry\":true,"
            "\"token\":\"redacted:deadbeef\"}\n");
}

TEST(LogFormat, TextLineQuotesOnlyWhatNeedsIt) {
  EXPECT_EQ(line(LogFormat::kText, head_at(0),
                 {{"addr", "127.0.0.1:80"}, {"path", "a b"}, {"empty", ""}, {"sum", "1=2"}}),
            "1970-01-01T00:00:00.000Z INFO  svc-storage listener up addr=127.0.0.1:80 "
            "path=\"a b\" empty=\"\" sum=\"1=2\"\n");
}

TEST(LogFormat, TextLineEndsWithTheCorrelationId) {
  LineHead head = head_at(0);
  head.corr_id = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
  EXPECT_TRUE(line(LogFormat::kText, head).ends_with(" corr_id=01ARZ3NDEKTSV4RRFFQ69G5FAV\n"));
}

TEST(LogFormat, TimesBeforeTheEpochAndOnLeapDays) {
  EXPECT_EQ(time_of(-1), "1969-12-31T23:59:59.999Z");
  EXPECT_EQ(time_of(951782400000), "2000-02-29T00:00:00.000Z");
}

TEST(LogFormat, TimesOutOfRangeAreClamped) {
  EXPECT_EQ(time_of(std::numeric_limits<std::int64_t>::max()), "9999-12-31T23:59:59.999Z");
  EXPECT_EQ(time_of(std::numeric_limits<std::int64_t>::min()), "0000-01-01T00:00:00.000Z");
}

TEST(LogFormat, NumbersJsonCannotHoldBecomeText) {
  const auto parsed = json::parse(line(LogFormat::kJson, head_at(0),
                                       {{"a", std::numeric_limits<double>::quiet_NaN()},
                                        {"b", -std::numeric_limits<double>::infinity()}}));
  EXPECT_EQ(parsed["a"], "NaN");
  EXPECT_EQ(parsed["b"], "-Infinity");
}

TEST(LogFormat, AnyBytesGiveOneValidJsonLine) {
  EXPECT_TRUE(rc::check([](const std::string& message, const std::string& service,
                           const std::vector<std::uint8_t>& bytes) {
    const std::string value(bytes.begin(), bytes.end());
    const std::string text =
        line(LogFormat::kJson, {0, Level::kError, service, message, {}}, {{"value", value}});
    RC_ASSERT(is_one_printable_line(text));
    const auto parsed = json::parse(text);
    RC_ASSERT(without_replacements(parsed["msg"]) == valid_part(message));
    RC_ASSERT(without_replacements(parsed["value"]) == valid_part(value));
  }));
}

TEST(LogFormat, AnyBytesGiveOnePrintableTextLine) {
  EXPECT_TRUE(rc::check([](const std::string& message, const std::vector<std::uint8_t>& bytes) {
    const std::string value(bytes.begin(), bytes.end());
    const std::string text =
        line(LogFormat::kText, {0, Level::kError, "svc", message, {}}, {{"value", value}});
    RC_ASSERT(is_one_printable_line(text));
  }));
}

TEST(LogFormat, ValidUtf8ComesBackUnchanged) {
  const std::string text =
      "d\xC3\xA9j\xC3\xA0 \xE2\x82\xAC \xF0\x9F\x98\x80 \"q\" \\ \t\r\n\x01\x7F";
  const auto parsed = json::parse(line(LogFormat::kJson, head_at(0), {{"value", text}}));
  EXPECT_EQ(parsed["value"], text);
}

TEST(LogFormat, TerminalControlsAreEscaped) {
  // U+009B starts a control sequence on some terminals, like ESC [.
  const std::string text = line(LogFormat::kText, head_at(0),
                                {{"value",
                                  "\xC2\x9B"
                                  "31m\x1b[0m"}});
  EXPECT_NE(text.find("value=\"\\u009b31m\\u001b[0m\""), std::string::npos) << text;
}

TEST(LogFormat, MalformedUtf8IsReplaced) {
  // A lone continuation, an overlong slash, a surrogate, beyond U+10FFFF, a cut sequence.
  for (const char* bad : {"\x80", "\xC0\xAF", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xE2\x82"}) {
    const auto parsed = json::parse(line(LogFormat::kJson, head_at(0), {{"value", bad}}));
    const std::string value = parsed["value"];
    EXPECT_FALSE(value.empty());
    EXPECT_EQ(without_replacements(value), "");
  }
}

TEST(LogFormat, LongTextsAreCutBetweenCharacters) {
  for (std::size_t lead = 0; lead < 4; ++lead) {
    std::string text(lead, 'a');
    while (text.size() < 2 * kLogTextBytes) text += "\xF0\x9F\x98\x80";
    const auto parsed = json::parse(line(LogFormat::kJson, head_at(0), {{"value", text}}));
    const std::string value = parsed["value"];
    EXPECT_LE(value.size(), kLogTextBytes);
    EXPECT_GE(value.size(), kLogTextBytes - 3);
    EXPECT_TRUE(value.ends_with("..."));
    EXPECT_TRUE(text.starts_with(value.substr(0, value.size() - 3)));
  }
}

TEST(LogFormat, LongestLineStaysWithinItsBound) {
  const std::string worst(2 * kLogTextBytes, '\x01');
  const LineHead head{0, Level::kError, worst, worst, worst};
  for (const LogFormat format : {LogFormat::kJson, LogFormat::kText}) {
    const std::string text =
        line(format, head, {{"a", worst}, {"b", worst}, {"c", worst}, {"d", worst}});
    EXPECT_LE(text.size(), kLineBytes);
    EXPECT_TRUE(is_one_printable_line(text));
    EXPECT_NE(text.find("truncated"), std::string::npos);
  }
  const auto parsed = json::parse(line(LogFormat::kJson, head, {{"a", worst}, {"b", worst}}));
  EXPECT_EQ(parsed["truncated"], true);
  EXPECT_FALSE(parsed.contains("b"));
}

TEST(LogFormat, ParsesItsOwnNames) {
  for (const Level level :
       {Level::kTrace, Level::kDebug, Level::kInfo, Level::kWarn, Level::kError}) {
    EXPECT_EQ(parse_level(name(level)), level);
  }
  EXPECT_EQ(parse_level("loud"), std::nullopt);
  EXPECT_EQ(parse_log_format("json"), LogFormat::kJson);
  EXPECT_EQ(parse_log_format("text"), LogFormat::kText);
  EXPECT_EQ(parse_log_format("xml"), std::nullopt);
}

}  // namespace
}  // namespace ron::observe
