#include "services/gateway/forward_head.h"

#include <map>
#include <string>

#include <gtest/gtest.h>

#include "http/field_list.h"
#include "services/gateway/test_request.h"

namespace ron::gateway {
namespace {

using test::TestRequest;

// Every field as the upstream gets it; lines of one name are joined, so that a second one shows.
std::map<std::string, std::string> forwarded(TestRequest& request,
                                             const config::TextList& trusted = {}) {
  const ClientAddress client = client_of(*request->peer, *request->head, AddressBlocks(trusted));
  const ForwardHead head(*request, client);
  std::map<std::string, std::string> out;
  for (const http::Field& field : head.fields()) {
    std::string name(field.name);
    for (char& c : name) c = http::lower(c);
    std::string& value = out[name];
    value += (value.empty() ? "" : " | ") + std::string(field.value);
  }
  return out;
}

TEST(ForwardHead, SaysWhereTheRequestComesFrom) {
  TestRequest request("GET", "/x", "Accept: text/plain\r\n");
  const auto fields = forwarded(request);
  EXPECT_EQ(fields.at("forwarded"), "for=192.0.2.1;proto=http;host=\"ron.example\"");
  EXPECT_EQ(fields.at("x-forwarded-for"), "192.0.2.1");
  EXPECT_EQ(fields.at("x-forwarded-proto"), "http");
  EXPECT_EQ(fields.at("x-forwarded-host"), "ron.example");
  EXPECT_EQ(fields.at("accept"), "text/plain");
  EXPECT_EQ(fields.at("x-corr-id").size(), 26U);
}

TEST(ForwardHead, DropsWhatTheClientSaysAboutItself) {
  TestRequest request("GET", "/x",
                      "Forwarded: for=1.1.1.1;proto=https\r\nX-Forwarded-For: 1.1.1.1\r\n"
                      "x-forwarded-proto: https\r\nX-Forwarded-Host: evil\r\n"
                      "X-Forwarded-Prefix: /admin\r\nX-Real-IP: 1.1.1.1\r\n"
                      "True-Client-IP: 1.1.1.1\r\nCF-Connecting-IP: 1.1.1.1\r\n");
  const auto fields = forwarded(request);
  EXPECT_EQ(fields.at("forwarded"), "for=192.0.2.1;proto=http;host=\"ron.example\"");
  EXPECT_EQ(fields.at("x-forwarded-for"), "192.0.2.1");
  EXPECT_EQ(fields.at("x-forwarded-proto"), "http");
  EXPECT_EQ(fields.at("x-forwarded-host"), "ron.example");
  for (const char* gone :
       {"x-forwarded-prefix", "x-real-ip", "true-client-ip", "cf-connecting-ip"}) {
    EXPECT_FALSE(fields.contains(gone)) << gone;
  }
}

TEST(ForwardHead, DropsWhatOnlyAProxyMaySay) {
  constexpr std::string_view kNames[] = {
      "X-Client-IP",      "X-Cluster-Client-IP", "Fastly-Client-IP", "True-Client-IP",
      "CF-Connecting-IP", "CF-Connecting-IPv6",  "X-Original-URL",   "X-Rewrite-URL",
      "X-Original-URI",   "X-Original-Host",     "X-Host",           "X-Remote-IP",
      "X-Remote-Addr",    "X-Originating-IP",    "Client-IP",        "Forwarded-For",
      "X-Forwarded",      "X-Azure-ClientIP",    "X_Original_URL",   "Client_IP"};
  for (const std::string_view name : kNames) {
    TestRequest request("GET", "/x", std::string(name) + ": 203.0.113.9\r\nX-Kept: 1\r\n");
    const auto fields = forwarded(request);
    EXPECT_TRUE(fields.contains("x-kept"));
    for (const auto& [key, value] : fields) EXPECT_NE(value, "203.0.113.9") << key;
  }
}

// Upstreams that hand fields on in variables do not tell '_' from '-'.
TEST(ForwardHead, DropsItHoweverItIsSpelled) {
  TestRequest request("GET", "/x",
                      "X_Forwarded_For: 1.1.1.1\r\nx_Real-ip: 1.1.1.1\r\nX-Forwarded-By: me\r\n"
                      "X_CORR_ID: mine\r\nX_Forwarde_For: kept\r\nReal-IP: kept\r\n");
  const auto fields = forwarded(request);
  for (const char* gone : {"x_forwarded_for", "x_real-ip", "x-forwarded-by", "x_corr_id"}) {
    EXPECT_FALSE(fields.contains(gone)) << gone;
  }
  EXPECT_TRUE(fields.contains("x_forwarde_for"));
  EXPECT_TRUE(fields.contains("real-ip"));
}

TEST(ForwardHead, ATrustedProxyMaySayThatItWasTls) {
  TestRequest request("GET", "/x", "X-Forwarded-For: 203.0.113.5\r\nX-Forwarded-Proto: https\r\n",
                      "10.0.0.1:1");
  const auto fields = forwarded(request, {"10.0.0.0/8"});
  EXPECT_EQ(fields.at("forwarded"), "for=203.0.113.5;proto=https;host=\"ron.example\"");
  EXPECT_EQ(fields.at("x-forwarded-proto"), "https");
}

TEST(ForwardHead, WritesIpv6AndTlsAsTheyAre) {
  TestRequest request("GET", "/x", "", "[2001:db8::7]:5");
  request->is_secure = true;
  const auto fields = forwarded(request);
  EXPECT_EQ(fields.at("forwarded"), "for=\"[2001:db8::7]\";proto=https;host=\"ron.example\"");
  EXPECT_EQ(fields.at("x-forwarded-for"), "2001:db8::7");
}

TEST(ForwardHead, LeavesOutWhatWasForThisHop) {
  TestRequest request("GET", "/x",
                      "Connection: X-Secret, keep-alive\r\nX-Secret: 1\r\nTE: trailers\r\n"
                      "Keep-Alive: timeout=5\r\nProxy-Authorization: x\r\nUpgrade: h2c\r\n");
  const auto fields = forwarded(request);
  for (const char* gone :
       {"connection", "x-secret", "te", "keep-alive", "proxy-authorization", "upgrade", "host"}) {
    EXPECT_FALSE(fields.contains(gone)) << gone;
  }
}

TEST(ForwardHead, TheLongestHostFits) {
  const std::string host(ForwardHead::kHostBytes, 'h');
  TestRequest request("GET", "/x", "Host: " + host + "\r\n",
                      "[2001:db8:1111:2222:3333:4444:5555:6666]:1");
  const auto fields = forwarded(request);
  EXPECT_NE(fields.at("forwarded").find(host), std::string::npos);
}

}  // namespace
}  // namespace ron::gateway
