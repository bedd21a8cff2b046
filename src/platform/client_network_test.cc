#include "platform/client_network.h"

#include <string_view>

#include <gtest/gtest.h>

#include "platform/address_text.h"

namespace ron::platform {
namespace {

IpAddress network(std::string_view peer) { return client_network(*Endpoint::parse(peer)); }

TEST(ClientNetwork, AnIPv4AddressIsOneClient) {
  EXPECT_EQ(network("192.0.2.1:1"), network("192.0.2.1:2"));
  EXPECT_NE(network("192.0.2.1:1"), network("192.0.2.2:1"));
  EXPECT_EQ(network("[::ffff:192.0.2.1]:1"), network("192.0.2.1:1"));
}

TEST(ClientNetwork, AnIPv6NetworkIsOneClient) {
  EXPECT_EQ(network("[2001:db8:1:2:3:4:5:6]:1"), network("[2001:db8:1:2:ffff::1]:1"));
  EXPECT_EQ(network("[2001:db8:1:2:3:4:5:6]:1"), network("[2001:db8:1:2::]:1"));
  EXPECT_NE(network("[2001:db8:1:2::1]:1"), network("[2001:db8:1:3::1]:1"));
}

TEST(ClientNetwork, SaysWhoseItIs) {
  EXPECT_EQ(network_text(network("192.0.2.1:1")), "192.0.2.1");
  EXPECT_EQ(network_text(network("[2001:db8:1:2:3::4]:1")), "2001:db8:1:2::/64");
}

}  // namespace
}  // namespace ron::platform
