#include "http/server_url.h"

#include <gtest/gtest.h>

namespace ron::http {
namespace {

TEST(ServerUrl, TakesNamesAndAddresses) {
  struct Row {
    std::string_view url;
    std::string_view host;
    std::uint16_t port;
    std::string_view text;
  };
  constexpr Row kRows[] = {
      {"http://127.0.0.1:8081", "127.0.0.1", 8081, "http://127.0.0.1:8081"},
      {"http://storage.example:8081/", "storage.example", 8081, "http://storage.example:8081"},
      {"http://node-7", "node-7", 80, "http://node-7:80"},
      {"http://[::1]:8081", "::1", 8081, "http://[::1]:8081"},
      {"http://[fe80::2]", "fe80::2", 80, "http://[fe80::2]:80"},
      {"https://storage.example", "storage.example", 443, "https://storage.example:443"},
      {"https://127.0.0.1:8081", "127.0.0.1", 8081, "https://127.0.0.1:8081"},
      {"unix:/run/ron/ron.sock", "/run/ron/ron.sock", 0, "unix:/run/ron/ron.sock"},
  };
  for (const Row& row : kRows) {
    const auto server = parse_server_url(row.url);
    ASSERT_TRUE(server) << row.url << ": " << server.error().message;
    EXPECT_EQ(server->host, row.host);
    EXPECT_EQ(server->port, row.port);
    EXPECT_EQ(server->text(), row.text);
  }
}

TEST(ServerUrl, SaysWhatIsWrong) {
  struct Row {
    std::string_view url;
    std::string_view why;
  };
  constexpr Row kRows[] = {
      {"", "does not begin with http://"},
      {"nonsense", "does not begin with http://"},
      {"127.0.0.1:8081", "does not begin with http://"},
      {"ftp://x", "does not begin with http://"},
      {"http://", "names no host"},
      {"http://:80", "names no host"},
      {"http://10.0.0.300:80", "names no host"},
      {"http://two words:80", "names no host"},
      {"http://::1:80", "names no host"},
      {"http://[::1", "names no host"},
      {"http://[nonsense]:80", "names no host"},
      {"http://h:", "no port"},
      {"http://h:0", "no port"},
      {"http://h:65536", "no port"},
      {"http://h:80x", "no port"},
      {"http://h:80/o/b3:12", "give only the server, http://h:80"},
      {"http://h?x", "give only the server, http://h"},
      {"https://h/o", "give only the server, https://h"},
      {"unix:", "no path of a Unix socket"},
  };
  for (const Row& row : kRows) {
    const auto server = parse_server_url(row.url);
    ASSERT_FALSE(server) << row.url;
    EXPECT_EQ(server.error().code, base::Code::Malformed);
    EXPECT_NE(server.error().message.find(row.why), std::string::npos) << server.error().message;
  }
}

TEST(ServerUrl, APasswordIsNotRepeated) {
  const auto server = parse_server_url("http://me:hunter2@h:80");
  ASSERT_FALSE(server);
  EXPECT_EQ(server.error().message.find("hunter2"), std::string::npos);
  EXPECT_NE(server.error().message.find("tokens"), std::string::npos);
}

}  // namespace
}  // namespace ron::http
