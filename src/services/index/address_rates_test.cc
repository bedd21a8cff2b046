#include "services/index/address_rates.h"

#include <chrono>
#include <string_view>

#include <gtest/gtest.h>

namespace ron::index {
namespace {

using namespace std::chrono_literals;

constexpr platform::TimePoint kStart{1h};

bool take(AddressRates& rates, std::string_view peer, platform::TimePoint now = kStart) {
  return rates.take(platform::Endpoint::parse(peer).value(), 2, now).has_value();
}

TEST(AddressRates, EachAddressHasItsOwn) {
  AddressRates rates;
  EXPECT_TRUE(take(rates, "192.0.2.1:5"));
  EXPECT_TRUE(take(rates, "192.0.2.1:6"));
  EXPECT_FALSE(take(rates, "192.0.2.1:7"));
  EXPECT_TRUE(take(rates, "192.0.2.2:5"));
  EXPECT_TRUE(take(rates, "192.0.2.1:8", kStart + 1s));
}

TEST(AddressRates, ANetworkOfIpv6IsOneAddress) {
  AddressRates rates;
  EXPECT_TRUE(take(rates, "[2001:db8:1:2::1]:5"));
  EXPECT_TRUE(take(rates, "[2001:db8:1:2:ffff::9]:5"));
  EXPECT_FALSE(take(rates, "[2001:db8:1:2::3]:5"));
  EXPECT_TRUE(take(rates, "[2001:db8:1:3::1]:5"));
}

TEST(AddressRates, ARateOfZeroIsNoLimit) {
  AddressRates rates;
  const auto peer = platform::Endpoint::parse("192.0.2.1:5").value();
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(rates.take(peer, 0, kStart));
}

}  // namespace
}  // namespace ron::index
