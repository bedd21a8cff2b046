#include "http/client_share.h"

#include <gtest/gtest.h>

#include "http/request.h"

namespace ron::http {
namespace {

class ClientShareTest : public testing::Test {
 protected:
  std::string share_from(std::string_view peer) {
    endpoint_ = *platform::Endpoint::parse(peer);
    request_.peer = &endpoint_;
    return share_of(request_);
  }

  platform::Endpoint endpoint_;
  Request request_;
};

TEST_F(ClientShareTest, AClientWithoutACapabilityIsItsAddress) {
  EXPECT_EQ(share_from("192.0.2.1:1234"), "address 192.0.2.1");
  EXPECT_EQ(share_from("[2001:db8::1]:1234"), share_from("[2001:db8::2]:1"));
}

TEST_F(ClientShareTest, NothingTellsClientsOfAUnixSocketApart) {
  EXPECT_EQ(share_from("unix:/run/ron.sock"), "");
}

TEST_F(ClientShareTest, ATenantIsTheSameFromEveryAddress) {
  request_.tenant = "acme";
  EXPECT_EQ(share_from("192.0.2.1:1234"), share_from("192.0.2.2:1234"));
}

TEST_F(ClientShareTest, ATenantNamedLikeAnAddressIsNotThatAddress) {
  const std::string address = share_from("192.0.2.1:1234");
  request_.tenant = "192.0.2.1";
  EXPECT_NE(share_from("192.0.2.1:1234"), address);
}

TEST_F(ClientShareTest, WhatTheServiceInFrontSaysCounts) {
  Request front;
  front.share = {ClientShare::Kind::Address, "198.51.100.7"};
  request_ = front.handed_on();
  EXPECT_EQ(share_from("192.0.2.1:1234"), "address 198.51.100.7");
}

}  // namespace
}  // namespace ron::http
