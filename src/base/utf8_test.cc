#include "base/utf8.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace ron::base {
namespace {

TEST(Utf8, AcceptsWellFormedTextAtEveryOffset) {
  for (std::size_t before = 0; before < 20; ++before) {
    const std::string ascii(before, 'a');
    EXPECT_TRUE(is_utf8(ascii));
    for (const char* good : {"\xC2\x80", "\xE0\xA0\x80", "\xED\x9F\xBF", "\xEE\x80\x80",
                             "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF"}) {
      EXPECT_TRUE(is_utf8(ascii + good + ascii)) << before;
    }
    for (const char* bad : {"\x80", "\xC1\xBF", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xF0\x8F\xBF\xBF",
                            "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFF", "\xE2\x82"}) {
      EXPECT_FALSE(is_utf8(ascii + bad + ascii)) << before;
      EXPECT_FALSE(is_utf8(ascii + bad)) << before;
    }
  }
}

TEST(Utf8, AppendsEveryLength) {
  std::string out;
  for (const char32_t code_point :
       {0x0U, 0x7FU, 0x80U, 0x7FFU, 0x800U, 0xFFFFU, 0x10000U, 0x10FFFFU}) {
    append_utf8(out, code_point);
  }
  EXPECT_EQ(out, std::string("\0\x7F", 2) + "\u0080\u07FF\u0800\uFFFF\U00010000\U0010FFFF");
  EXPECT_TRUE(rc::check("what is appended is well-formed", [] {
    const auto code_point = *rc::gen::oneOf(rc::gen::inRange<char32_t>(0, 0xD800),
                                            rc::gen::inRange<char32_t>(0xE000, 0x110000));
    std::string text;
    append_utf8(text, code_point);
    RC_ASSERT(utf8_length(text) == text.size());
  }));
}

}  // namespace
}  // namespace ron::base
