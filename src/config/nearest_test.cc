#include "config/nearest.h"

#include <algorithm>
#include <array>

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace ron::config {
namespace {

TEST(EditDistance, CountsEachKindOfSlip) {
  EXPECT_EQ(edit_distance("max_rps", "max_rps", 4), 0U);
  EXPECT_EQ(edit_distance("max_rp", "max_rps", 4), 1U);
  EXPECT_EQ(edit_distance("maxx_rps", "max_rps", 4), 1U);
  EXPECT_EQ(edit_distance("mox_rps", "max_rps", 4), 1U);
  EXPECT_EQ(edit_distance("amx_rps", "max_rps", 4), 1U) << "a swap of neighbours is one slip";
  EXPECT_EQ(edit_distance("", "abc", 4), 3U);
}

TEST(EditDistance, StopsAtTheLimit) {
  EXPECT_EQ(edit_distance("abcdef", "uvwxyz", 2), 3U);
  EXPECT_EQ(edit_distance(std::string(100000, 'a'), "a", 2), 3U);
}

TEST(EditDistance, IsSymmetricAndZeroOnlyForEqualTexts) {
  EXPECT_TRUE(rc::check("symmetry", [] {
    const auto text = rc::gen::container<std::string>(rc::gen::element('a', 'b', 'c'));
    const std::string a = *text;
    const std::string b = *text;
    const std::size_t distance = edit_distance(a, b, 1000);
    RC_ASSERT(distance == edit_distance(b, a, 1000));
    RC_ASSERT((distance == 0) == (a == b));
    RC_ASSERT(distance <= std::max(a.size(), b.size()));
  }));
}

TEST(Nearest, FindsTheClosestAndOnlyWhenNear) {
  const std::array<std::string, 3> names = {"storage", "gateway", "registry"};
  EXPECT_EQ(nearest("storge", names), "storage");
  EXPECT_EQ(nearest("gatewya", names), "gateway");
  EXPECT_EQ(nearest("log", names), "");
  EXPECT_EQ(nearest("", names), "");
}

}  // namespace
}  // namespace ron::config
