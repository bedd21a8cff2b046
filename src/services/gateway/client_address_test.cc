#include "services/gateway/client_address.h"

#include <string>

#include <gtest/gtest.h>

#include "services/gateway/test_request.h"

namespace ron::gateway {
namespace {

using test::TestRequest;

AddressBlock::Ip ip(std::string_view text) {
  return platform::Endpoint::parse(std::string(text)).value().ip;
}

TEST(AddressBlock, HasTheAddressesOfItsPrefix) {
  const auto block = AddressBlock::parse("10.1.0.0/16").value();
  EXPECT_TRUE(block.contains(ip("10.1.255.3:0")));
  EXPECT_FALSE(block.contains(ip("10.2.0.1:0")));
  const auto odd = AddressBlock::parse("192.0.2.128/25").value();
  EXPECT_TRUE(odd.contains(ip("192.0.2.129:0")));
  EXPECT_FALSE(odd.contains(ip("192.0.2.127:0")));
  const auto six = AddressBlock::parse("2001:db8::/32").value();
  EXPECT_TRUE(six.contains(ip("[2001:db8:1::1]:0")));
  EXPECT_FALSE(six.contains(ip("[2001:db9::1]:0")));
  const auto one = AddressBlock::parse("192.0.2.7").value();
  EXPECT_TRUE(one.contains(ip("192.0.2.7:0")));
  EXPECT_FALSE(one.contains(ip("192.0.2.8:0")));
  EXPECT_TRUE(AddressBlock::parse("0.0.0.0/0").value().contains(ip("203.0.113.9:0")));
}

TEST(AddressBlock, RefusesWhatIsNone) {
  for (const char* bad : {"", "localhost", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/x", "10.0.0/8",
                          "2001:db8::/129", "10.0.0.1:80", "10.0.0.0/8 ", "unix:/x"}) {
    EXPECT_FALSE(AddressBlock::parse(bad)) << bad;
  }
}

std::string client(std::string_view peer, std::string_view forwarded,
                   const config::TextList& trusted) {
  const std::string lines =
      forwarded.empty() ? "" : "X-Forwarded-For: " + std::string(forwarded) + "\r\n";
  TestRequest request("GET", "/", lines, peer);
  const ClientAddress found = client_of(*request->peer, *request->head, AddressBlocks(trusted));
  return std::string(found.text.view());
}

TEST(ClientAddress, AClientIsBelievedNothingAboutItself) {
  EXPECT_EQ(client("198.51.100.7:1", "203.0.113.5", {}), "198.51.100.7");
  EXPECT_EQ(client("198.51.100.7:1", "203.0.113.5", {"10.0.0.0/8"}), "198.51.100.7");
}

TEST(ClientAddress, ATrustedProxyIsBelievedWhatItSaw) {
  EXPECT_EQ(client("10.0.0.1:1", "203.0.113.5", {"10.0.0.0/8"}), "203.0.113.5");
  // What the client itself had put in front of it does not count.
  EXPECT_EQ(client("10.0.0.1:1", "1.2.3.4, 203.0.113.5", {"10.0.0.0/8"}), "203.0.113.5");
  EXPECT_EQ(client("10.0.0.1:1", "203.0.113.5, 10.0.0.9", {"10.0.0.0/8"}), "203.0.113.5");
  EXPECT_EQ(client("10.0.0.1:1", "", {"10.0.0.0/8"}), "10.0.0.1");
  EXPECT_EQ(client("10.0.0.1:1", "nonsense", {"10.0.0.0/8"}), "10.0.0.1");
  EXPECT_EQ(client("10.0.0.1:1", "2001:db8::5", {"10.0.0.0/8"}), "2001:db8::5");
}

TEST(ClientAddress, OfSeveralLinesTheLastIsTheNearest) {
  TestRequest request("GET", "/", "X-Forwarded-For: 1.2.3.4\r\nX-Forwarded-For: 203.0.113.5\r\n",
                      "10.0.0.1:1");
  const auto found = client_of(*request->peer, *request->head, AddressBlocks({"10.0.0.0/8"}));
  EXPECT_EQ(found.text.view(), "203.0.113.5");
}

TEST(ClientAddress, ANetworkOfIpv6IsOneTenant) {
  const AddressBlocks nobody;
  TestRequest one("GET", "/", "", "[2001:db8:1:2::1]:5");
  TestRequest other("GET", "/", "", "[2001:db8:1:2:ffff::9]:5");
  TestRequest stranger("GET", "/", "", "[2001:db8:1:3::1]:5");
  const auto tenant = [&](TestRequest& request) {
    return std::string(client_of(*request->peer, *request->head, nobody).tenant.view());
  };
  EXPECT_EQ(tenant(one), tenant(other));
  EXPECT_NE(tenant(one), tenant(stranger));
  EXPECT_EQ(client("[2001:db8:1:2::1]:5", "", {}), "2001:db8:1:2::1");
}

}  // namespace
}  // namespace ron::gateway
