// What bounds the service besides its queues: rates of addresses, remembered requests.
#include <chrono>

#include <gtest/gtest.h>

#include "services/index/address_rates.h"
#include "services/index/replays.h"

namespace ron::index {
namespace {

using namespace std::chrono_literals;

platform::Endpoint from(std::uint8_t last, std::uint8_t other = 0) {
  platform::Endpoint peer = platform::Endpoint::loopback(1);
  peer.ip[15] = last;
  peer.ip[14] = other;
  return peer;
}

TEST(AddressRates, OneAddressTakesNothingFromAnother) {
  AddressRates rates;
  const platform::TimePoint now{1h};
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(rates.take(from(1), 10, now));
  const auto refused = rates.take(from(1), 10, now);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, base::Code::RateLimited);
  EXPECT_TRUE(rates.take(from(2), 10, now));
  EXPECT_TRUE(rates.take(from(1), 10, now + 1s));
}

TEST(AddressRates, ZeroIsNoLimit) {
  AddressRates rates;
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(rates.take(from(1), 0, platform::TimePoint(1h)));
}

TEST(AddressRates, ANewRateIsFeltAtOnce) {
  AddressRates rates;
  const platform::TimePoint now{1h};
  EXPECT_TRUE(rates.take(from(1), 1, now));
  EXPECT_FALSE(rates.take(from(1), 1, now));
  EXPECT_TRUE(rates.take(from(1), 5, now));
}

// Sixteen thousand are remembered; the flood goes through its own buckets.
TEST(AddressRates, AFloodOfAddressesIsBounded) {
  AddressRates rates;
  const platform::TimePoint now{1h};
  for (int i = 0; i < 60'000; ++i) {
    platform::Endpoint peer = from(static_cast<std::uint8_t>(i), static_cast<std::uint8_t>(i >> 8));
    peer.ip[13] = static_cast<std::uint8_t>(i >> 16);
    ASSERT_TRUE(rates.take(peer, 1, now));
  }
}

TEST(Replays, TheSameRequestIsAnsweredTheSame) {
  Replays replays;
  EXPECT_FALSE(replays.find("k", "pin docs").value());
  replays.keep("k", "pin docs", base::Value("done"));
  EXPECT_EQ(*replays.find("k", "pin docs").value(), base::Value("done"));
  const auto other = replays.find("k", "unpin docs");
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, base::Code::Malformed);
}

TEST(Replays, TheFirstAreForgottenFirst) {
  Replays replays;
  for (std::size_t i = 0; i < Replays::kMost + 1; ++i) {
    replays.keep(std::to_string(i), "r", base::Value("a"));
  }
  EXPECT_FALSE(replays.find("0", "r").value());
  EXPECT_TRUE(replays.find("1", "r").value());
  EXPECT_TRUE(replays.find(std::to_string(Replays::kMost), "r").value());
}

}  // namespace
}  // namespace ron::index
