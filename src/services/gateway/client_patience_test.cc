#include "services/gateway/client_patience.h"

#include <gtest/gtest.h>

namespace ron::gateway {
namespace {

using namespace std::chrono_literals;

TEST(ClientPatience, ADripUsesItUpHoweverEvenlyItComes) {
  ClientPatience patience;
  for (int i = 0; i < 30; ++i) patience.note(1ms, 1);
  EXPECT_LT(patience.left(), 1ms);
}

TEST(ClientPatience, AClientAsFastAsMostAreKeepsIt) {
  ClientPatience patience;
  for (int i = 0; i < 1000; ++i) patience.note(5ms, 16 * base::kKiB);  // 3.2 MiB each second
  EXPECT_GT(patience.left(), 15ms);
}

TEST(ClientPatience, IsNeverMoreThanTheWholeOrLessThanNothing) {
  ClientPatience patience;
  patience.note(0ms, base::kGiB);
  EXPECT_EQ(patience.left(), ClientPatience::kWhole);
  patience.note(1h, 0);
  EXPECT_EQ(patience.left(), 0ms);
  patience.note(0ms, base::kGiB);
  EXPECT_EQ(patience.left(), ClientPatience::kWhole);
}

}  // namespace
}  // namespace ron::gateway
