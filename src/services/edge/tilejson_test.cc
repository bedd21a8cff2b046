#include "services/edge/tilejson.h"

#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "platform/net.h"

namespace ron::edge {
namespace {

using nlohmann::json;

pack::Info info_with(const std::string& metadata, pack::TileType type = pack::TileType::Mvt) {
  pack::Info info;
  info.type = type;
  info.min_zoom = 2;
  info.max_zoom = 9;
  info.bounds = {.west = -1.5, .south = -2, .east = 3.25, .north = 4};
  info.center_lon = 0.5;
  info.center_lat = 1;
  info.center_zoom = 4;
  info.metadata = metadata;
  return info;
}

json document(const pack::Info& info) {
  return json::parse(tilejson(tilejson_members("world", info), "http://x/{z}/{x}/{y}.mvt"));
}

TEST(TileJson, SaysWhatThePackSays) {
  const json made = document(info_with(
      R"({"name":"Öland","description":"d","attribution":"<a>©</a>","version":"1.2","type":"x",
          "vector_layers":[{"id":"land","fields":{"a":"String"},"minzoom":1,"description":"l"}],
          "tilestats":{"layers":[{"ratio":0.25}]}})"));
  EXPECT_EQ(made["tilejson"], "3.0.0");
  EXPECT_EQ(made["name"], "Öland");
  EXPECT_EQ(made["description"], "d");
  EXPECT_EQ(made["attribution"], "<a>©</a>");
  EXPECT_EQ(made["version"], "1.2");
  EXPECT_EQ(made["minzoom"], 2);
  EXPECT_EQ(made["maxzoom"], 9);
  EXPECT_EQ(made["bounds"], json::parse("[-1.5,-2,3.25,4]"));
  EXPECT_EQ(made["center"], json::parse("[0.5,1,4]"));
  EXPECT_EQ(made["tiles"], json::array({"http://x/{z}/{x}/{y}.mvt"}));
  EXPECT_EQ(
      made["vector_layers"],
      json::parse(R"([{"id":"land","fields":{"a":"String"},"minzoom":1,"description":"l"}])"));
  EXPECT_FALSE(made.contains("tilestats"));
  EXPECT_FALSE(made.contains("type"));
}

TEST(TileJson, MetadataOfStrangersBreakNothing) {
  const std::string deep = R"({"vector_layers":)" + std::string(5000, '[') + "1" +
                           std::string(5000, ']') + R"(,"name":"deep"})";
  for (const std::string& metadata :
       {std::string(), std::string("not JSON"), std::string("[1,2]"), std::string("{\"name\":7}"),
        std::string(R"({"vector_layers":{"id":"x"}})"),
        std::string(R"({"vector_layers":[1,null,{"fields":{}},{"id":5}]})"),
        std::string(R"({"name":")") + std::string(100'000, 'n') + "\"}"}) {
    const json made = document(info_with(metadata));
    EXPECT_EQ(made["name"], "world") << metadata.substr(0, 40);
    EXPECT_EQ(made["vector_layers"], json::array()) << metadata.substr(0, 40);
  }
  EXPECT_EQ(document(info_with(deep))["name"], "deep");
}

TEST(TileJson, PicturesHaveNoLayers) {
  EXPECT_FALSE(document(info_with("{}", pack::TileType::Png)).contains("vector_layers"));
}

class OriginOf : public ::testing::Test {
 protected:
  std::string origin(const std::string& lines, const std::string& peer, bool is_secure = false) {
    const std::string text = "GET / HTTP/1.1\r\n" + lines + "\r\n";
    http::RequestHead head;
    EXPECT_EQ(http::parse_head(text, head).progress, http::Progress::Done) << text;
    const auto endpoint = platform::Endpoint::parse(peer);
    http::Request request;
    request.head = &head;
    request.peer = &*endpoint;
    request.is_secure = is_secure;
    return origin_of(request);
  }
};

TEST_F(OriginOf, IsTheHostOfTheRequest) {
  EXPECT_EQ(origin("Host: maps.example:8080\r\n", "203.0.113.5:1"), "http://maps.example:8080");
  EXPECT_EQ(origin("Host: maps.example\r\n", "203.0.113.5:1", true), "https://maps.example");
  EXPECT_EQ(origin("Host: [2001:db8::1]:80\r\n", "203.0.113.5:1"), "http://[2001:db8::1]:80");
}

TEST_F(OriginOf, AProxyNearbyIsBelieved) {
  const std::string lines =
      "Host: 10.0.0.7:8084\r\nX-Forwarded-Host: maps.example\r\nX-Forwarded-Proto: https\r\n";
  for (const char* peer : {"127.0.0.1:1", "10.1.2.3:1", "172.31.0.1:1", "192.168.1.1:1",
                           "[fd00::1]:1", "[fe80::1]:1", "[::1]:1"}) {
    EXPECT_EQ(origin(lines, peer), "https://maps.example") << peer;
  }
  EXPECT_EQ(origin("Host: x\r\nX-Forwarded-Proto: http\r\n", "127.0.0.1:1", true), "http://x");
}

TEST_F(OriginOf, StrangersAreNot) {
  const std::string lines =
      "Host: maps.example\r\nX-Forwarded-Host: evil.example\r\nX-Forwarded-Proto: https\r\n";
  for (const char* peer : {"203.0.113.5:1", "172.32.0.1:1", "11.0.0.1:1", "[2001:db8::1]:1"}) {
    EXPECT_EQ(origin(lines, peer), "http://maps.example") << peer;
  }
}

TEST_F(OriginOf, NothingIsRepeatedThatIsNoHost) {
  for (const char* host : {"evil.example/path", "a\"b", "a@b", "x, y", "host:99999", "<b>", ""}) {
    EXPECT_EQ(origin(std::string("Host: maps.example\r\nX-Forwarded-Host: ") + host +
                         "\r\nX-Forwarded-Proto: javascript\r\n",
                     "127.0.0.1:1"),
              "http://maps.example")
        << host;
  }
}

}  // namespace
}  // namespace ron::edge
