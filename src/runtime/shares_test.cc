#include "runtime/shares.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace ron::runtime {
namespace {

TEST(Shares, EachHolderHasItsOwn) {
  Shares<std::string> shares;
  auto first = shares.try_enter("a", 2);
  auto second = shares.try_enter("a", 2);
  EXPECT_TRUE(first && second);
  EXPECT_FALSE(shares.try_enter("a", 2));
  EXPECT_TRUE(shares.try_enter("b", 2));
  second = {};
  EXPECT_TRUE(shares.try_enter("a", 2));
}

TEST(Shares, APlaceThatMovesIsGivenBackOnce) {
  Shares<std::string> shares;
  auto first = shares.try_enter("a", 1);
  {
    const auto second = std::move(first);
    EXPECT_FALSE(shares.try_enter("a", 1));
  }
  EXPECT_TRUE(shares.try_enter("a", 1));
}

TEST(Shares, RememberNobodyWithoutAPlace) {
  Shares<std::string> shares;
  EXPECT_FALSE(shares.try_enter("refused", 0));
  EXPECT_EQ(shares.holders(), 0U);
  {
    std::vector<Shares<std::string>::Place> places;
    for (int i = 0; i < 100; ++i) places.push_back(shares.try_enter(std::to_string(i), 1));
    EXPECT_EQ(shares.holders(), 100U);
  }
  EXPECT_EQ(shares.holders(), 0U);
}

}  // namespace
}  // namespace ron::runtime
