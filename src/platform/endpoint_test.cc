#include <string>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "platform/net.h"

namespace ron::platform {
namespace {

struct Row {
  std::string_view text;
  std::string_view printed;
};

TEST(Endpoint, ParsesAndPrints) {
  constexpr Row kRows[] = {
      {"127.0.0.1:8080", "127.0.0.1:8080"},
      {"localhost:0", "127.0.0.1:0"},
      {"0.0.0.0:65535", "0.0.0.0:65535"},
      {"[::1]:8080", "[::1]:8080"},
      {"[::]:1", "[::]:1"},
      {"[2001:db8:0:0::5]:443", "[2001:db8::5]:443"},
      {"[::ffff:10.0.0.1]:80", "10.0.0.1:80"},
  };
  for (const Row& row : kRows) {
    const base::Result<Endpoint> endpoint = Endpoint::parse(row.text);
    ASSERT_TRUE(endpoint.has_value()) << row.text;
    EXPECT_EQ(endpoint->text(), row.printed);
  }
}

TEST(Endpoint, RefusesWhatIsNotAnAddress) {
  for (const std::string_view text :
       {"", ":", ":80", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1",
        "127.0.0.1:80x", "127.0.0.1: 80", "127.0.0.256:80", "example.com:80", "::1:80", "[::1]",
        "[::1:80", "[]:80", "1.2.3:80", "127.0.0.1:+80"}) {
    const base::Result<Endpoint> endpoint = Endpoint::parse(text);
    EXPECT_FALSE(endpoint.has_value()) << text;
    if (!endpoint) EXPECT_EQ(endpoint.error().code, base::Code::Malformed);
  }
}

TEST(Endpoint, V4AndMappedV6AreOneKey) {
  EXPECT_EQ(*Endpoint::parse("10.0.0.1:80"), *Endpoint::parse("[::ffff:10.0.0.1]:80"));
  EXPECT_TRUE(Endpoint::parse("10.0.0.1:80")->is_v4());
  EXPECT_FALSE(Endpoint::parse("[::1]:80")->is_v4());
  EXPECT_EQ(Endpoint::loopback(9).text(), "127.0.0.1:9");
}

TEST(Endpoint, LoopbackIsAWholeNetworkInV4AndOneAddressInV6) {
  for (const char* text : {"127.0.0.1:80", "127.255.0.9:80", "[::1]:80", "localhost:80"})
    EXPECT_TRUE(Endpoint::parse(text)->is_loopback()) << text;
  for (const char* text : {"0.0.0.0:80", "128.0.0.1:80", "[::]:80", "[::2]:80", "[1::1]:80"})
    EXPECT_FALSE(Endpoint::parse(text)->is_loopback()) << text;
}

TEST(Endpoint, EveryAddressOfTheMachineIsOneOfTwo) {
  for (const char* text : {"0.0.0.0:80", "[::]:80"}) {
    EXPECT_TRUE(Endpoint::parse(text)->is_wildcard()) << text;
  }
  for (const char* text : {"127.0.0.1:80", "0.0.0.1:80", "[::1]:80", "[1::]:80"}) {
    EXPECT_FALSE(Endpoint::parse(text)->is_wildcard()) << text;
  }
}

TEST(Endpoint, EveryEndpointSurvivesPrintingAndParsing) {
  EXPECT_TRUE(rc::check([](const std::array<std::uint8_t, 16>& ip, std::uint16_t port) {
    const Endpoint endpoint{ip, port};
    const base::Result<Endpoint> back = Endpoint::parse(endpoint.text());
    RC_ASSERT(back.has_value());
    RC_ASSERT(*back == endpoint);
  }));
}

}  // namespace
}  // namespace ron::platform
