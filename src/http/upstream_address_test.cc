#include "http/upstream_address.h"

#include <gtest/gtest.h>

namespace ron::http {
namespace {

struct Aimed {
  ClientRequest request;
  UpstreamAddress address;
};
Aimed aim(std::string_view url) {
  Aimed aimed{{}, UpstreamAddress::parse(url).value()};
  aimed.address.aim(aimed.request);
  return aimed;
}

TEST(UpstreamAddress, AnIpAddressIsAnEndpoint) {
  const Aimed v4 = aim("http://10.0.0.7:8081");
  EXPECT_EQ(v4.request.endpoint.text(), "10.0.0.7:8081");
  EXPECT_EQ(v4.request.name, "");
  EXPECT_EQ(v4.request.tls_host, "");
  EXPECT_EQ(v4.address.authority(), "10.0.0.7:8081");
  const Aimed v6 = aim("http://[fe80::2]:8081/");
  EXPECT_EQ(v6.request.endpoint.text(), "[fe80::2]:8081");
  EXPECT_EQ(v6.address.authority(), "[fe80::2]:8081");
  EXPECT_EQ(v6.address.url(), "http://[fe80::2]:8081");
}

TEST(UpstreamAddress, ANameIsLookedUp) {
  const Aimed aimed = aim("http://storage.example:8081");
  EXPECT_EQ(aimed.request.name, "storage.example");
  EXPECT_EQ(aimed.request.port, 8081);
  EXPECT_EQ(aimed.request.endpoint, platform::Endpoint{});
  EXPECT_FALSE(aimed.address.is_secured());
}

TEST(UpstreamAddress, HttpsNamesWhomTheCertificateIsFor) {
  const Aimed named = aim("https://storage.example");
  EXPECT_EQ(named.request.tls_host, "storage.example");
  EXPECT_EQ(named.request.port, 443);
  EXPECT_EQ(named.address.url(), "https://storage.example:443");
  const Aimed v6 = aim("https://[::1]:8443");
  EXPECT_EQ(v6.request.tls_host, "::1");
  EXPECT_EQ(v6.request.endpoint.text(), "[::1]:8443");
  EXPECT_TRUE(v6.address.is_secured());
}

TEST(UpstreamAddress, AUnixSocketIsLocalhostToItsServer) {
  const Aimed aimed = aim("unix:/run/app.sock");
  EXPECT_EQ(aimed.request.endpoint.path, "/run/app.sock");
  EXPECT_EQ(aimed.address.authority(), "localhost");
  EXPECT_EQ(aimed.address.url(), "unix:/run/app.sock");
}

TEST(UpstreamAddress, AimingElsewhereLeavesNothingBehind) {
  ClientRequest request;
  const UpstreamAddress secured = UpstreamAddress::parse("https://storage.example").value();
  const UpstreamAddress plain = UpstreamAddress::parse("http://10.0.0.7:80").value();
  secured.aim(request);
  plain.aim(request);
  EXPECT_EQ(request.name, "");
  EXPECT_EQ(request.tls_host, "");
}

TEST(UpstreamAddress, SaysWhatIsWrong) {
  struct Row {
    std::string_view url;
    std::string_view why;
  };
  constexpr Row kRows[] = {
      {"", "does not begin with http://"},
      {"inproc:storage", "does not begin with http://"},
      {"HTTP://h:80", "does not begin with http://"},
      {"http://", "names no host"},
      {"http://10.0.0.300:80", "names no host"},
      {"http://h:0", "no port"},
      {"http://h:80/api", "has a path"},
      {"http://h:80//", "has a path"},
      {"http://h:80/?x", "has a path"},
      {"http://h:80#top", "has a path"},
      {"http://me:secret@h:80", "has a user name or password"},
      {"unix:", "no path of a Unix socket"},
      {"unix:app.sock", "not an absolute path"},
  };
  for (const Row& row : kRows) {
    const auto address = UpstreamAddress::parse(row.url);
    ASSERT_FALSE(address) << row.url;
    EXPECT_EQ(address.error().code, base::Code::Malformed);
    EXPECT_NE(address.error().message.find(row.why), std::string::npos) << address.error().message;
    EXPECT_EQ(address.error().message.find("secret"), std::string::npos);
  }
}

}  // namespace
}  // namespace ron::http
