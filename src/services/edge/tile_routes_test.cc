// Tiles, TileJSON and files of packs as clients get them.
#include <string>

#include <gtest/gtest.h>

#include "pack/test_support.h"
#include "services/edge/test_packs.h"

namespace ron::edge {
namespace {

using http::test::Answer;
using testing::gzip;
using testing::tag_of;
using testing::TestPack;
using namespace std::chrono_literals;

constexpr const char* kGzip = "Accept-Encoding: gzip\r\n";
const std::string kWorld = "[[edge.packs]]\nname = \"world\"\npath = \"/maps/world.pmtiles\"\n";

class TileRoutes : public testing::EdgePacks {
 protected:
  void start_world(const Flags& flags = {}, const std::string& row = "") {
    write("/maps", "world.pmtiles", "one");
    start(flags, kWorld + row);
  }
};

TEST_F(TileRoutes, AStoredEncodingIsSentToWhoAcceptsIt) {
  start_world();
  const Answer answer = get("/edge/tiles/world/2/1/0.mvt", kGzip);
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, gzip("one 2/1/0"));
  EXPECT_TRUE(answer.says("Content-Encoding: gzip"));
  EXPECT_TRUE(answer.says("Content-Type: application/vnd.mapbox-vector-tile"));
  EXPECT_TRUE(answer.says("Vary: Accept-Encoding"));
  EXPECT_TRUE(answer.says("ETag: \"" + tag_of(answer.body) + "\""));
  EXPECT_TRUE(answer.says("Cache-Control: public, max-age=300, must-revalidate"));
}

TEST_F(TileRoutes, OthersGetItDecodedWithAnotherTag) {
  start_world();
  for (const char* lines : {"", "Accept-Encoding: br\r\n", "Accept-Encoding: gzip;q=0, *\r\n"}) {
    const Answer answer = get("/edge/tiles/world/2/1/0.pbf", lines);
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.body, "one 2/1/0");
    EXPECT_EQ(answer.head.find("Content-Encoding"), std::string::npos);
    EXPECT_TRUE(answer.says("Vary: Accept-Encoding"));
    EXPECT_TRUE(answer.says("ETag: \"" + tag_of("one 2/1/0") + "\""));
  }
  EXPECT_EQ(get("/edge/tiles/world/2/1/0", "Accept-Encoding: identity;q=0\r\n").status, 406);
}

TEST_F(TileRoutes, ASecondRequestIsAnsweredFromMemory) {
  start_world();
  EXPECT_EQ(get("/edge/tiles/world/2/1/0", kGzip).status, 200);
  EXPECT_EQ(get("/edge/tiles/world/2/1/0", kGzip).status, 200);
  EXPECT_EQ(opened("one").asked, 1U);
  EXPECT_EQ(get("/edge/tiles/world/2/1/0").status, 200);
  EXPECT_EQ(get("/edge/tiles/world/2/1/0").status, 200);
  EXPECT_EQ(opened("one").asked, 2U) << "once for each form";
  EXPECT_EQ(counted("edge_tiles_total", "hit"), 2);
  EXPECT_EQ(counted("edge_tiles_total", "loaded"), 2);
}

TEST_F(TileRoutes, ConditionsAndRangesHold) {
  start_world();
  const std::string tag = "\"" + tag_of("one 1/0/1") + "\"";
  const std::string tile = "/edge/tiles/world/1/0/1.mvt";
  EXPECT_EQ(get(tile, "If-None-Match: " + tag + "\r\n").status, 304);
  EXPECT_EQ(get(tile, "If-Match: \"b3:other\"\r\n").status, 412);
  const Answer part = get(tile, "Range: bytes=4-6\r\nIf-Range: " + tag + "\r\n");
  EXPECT_EQ(part.status, 206);
  EXPECT_EQ(part.body, "1/0");
  EXPECT_TRUE(part.says("Content-Range: bytes 4-6/9"));
  EXPECT_EQ(get(tile, "Range: bytes=4-6\r\nIf-Range: \"b3:other\"\r\n").status, 200);
  EXPECT_EQ(get(tile, "Range: bytes=9-\r\n").status, 416);
  const Answer head = ask("HEAD", tile);
  EXPECT_EQ(head.status, 200);
  EXPECT_TRUE(head.says("Content-Length: 9"));
}

TEST_F(TileRoutes, PathsAreReadStrictly) {
  start_world();
  for (const char* path : {"01/0/0", "1/00/0", "1/2/0", "1/0/2", "31/0/0", "-1/0/0", "1/0/x.mvt",
                           "1/0/0.", "1/+0/0", "99999999999999999999/0/0"}) {
    EXPECT_EQ(get(std::string("/edge/tiles/world/") + path).status, 400) << path;
  }
  EXPECT_EQ(get("/edge/tiles/other/1/0/0").status, 404);
  const Answer wrong = get("/edge/tiles/world/1/0/0.png");
  EXPECT_EQ(wrong.status, 404);
  EXPECT_NE(wrong.body.find(".mvt"), std::string::npos) << wrong.body;
}

TEST_F(TileRoutes, AMissingTileIsEmptyOrNotFoundAsConfigured) {
  start_world();
  EXPECT_EQ(get("/edge/tiles/world/3/7/0.mvt").status, 204);
  EXPECT_EQ(get("/edge/tiles/world/3/7/0.mvt").status, 204);
  EXPECT_EQ(opened("one").asked, 1U) << "that there is none is remembered";
  EXPECT_EQ(get("/edge/tiles/world/4/0/0.mvt").status, 204) << "no zoom of this pack";
  EXPECT_EQ(opened("one").asked, 1U);
  EXPECT_EQ(counted("edge_tiles_total", "missing"), 3);
  reload({"edge.tiles.missing=404"}, kWorld);
  EXPECT_EQ(get("/edge/tiles/world/3/7/0.mvt").status, 404);
  reload({"edge.tiles.missing=404"}, kWorld + "missing = \"204\"\n");
  EXPECT_EQ(get("/edge/tiles/world/3/7/0.mvt").status, 204) << "the pack's own word counts";
  EXPECT_EQ(opened("one").asked, 1U) << "and it was not opened again";
}

TEST_F(TileRoutes, ABombIsRefusedWithItsMeasure) {
  prepare = [](TestPack& pack) { pack.tiles["1/0/0"] = gzip(std::string(1 << 20, 'x')); };
  start_world();
  EXPECT_EQ(get("/edge/tiles/world/1/0/0", kGzip).status, 200) << "as stored it is small";
  const Answer answer = get("/edge/tiles/world/1/0/0");
  EXPECT_EQ(answer.status, 413);
  EXPECT_NE(answer.body.find("\"code\":\"DecodedRatio\""), std::string::npos) << answer.body;
  EXPECT_NE(answer.body.find("\"ratio\":"), std::string::npos) << answer.body;
  EXPECT_EQ(counted("edge_rejects_total", "decompress_cap"), 1);
}

TEST_F(TileRoutes, ATileThatIsStoredUnlikeTheOthersIsSentDecoded) {
  prepare = [](TestPack& pack) {
    pack.tiles["1/0/0"] = "plain";
    pack.compression = pack::Compression::None;
  };
  start_world();
  const Answer answer = get("/edge/tiles/world/1/0/0", kGzip);
  EXPECT_EQ(answer.body, "plain");
  EXPECT_EQ(answer.head.find("Content-Encoding"), std::string::npos);
}

TEST_F(TileRoutes, WhatDoesNotDecodeIsThePacksFault) {
  prepare = [](TestPack& pack) { pack.tiles["1/0/0"] = "no gzip"; };
  start_world();
  EXPECT_EQ(get("/edge/tiles/world/1/0/0").status, 502);
}

TEST_F(TileRoutes, AFileThatIsNotWhatItWasIsAnError) {
  start_world();
  opened("one").failure = base::Error(base::Code::IntegrityFail, "/maps/world.pmtiles was changed");
  for (const char* target : {"/edge/tiles/world/1/0/0", "/edge/packs/world.pmtiles"}) {
    const auto answer = get(target);
    EXPECT_EQ(answer.status, 502);
    EXPECT_NE(answer.body.find("\"world.pmtiles was changed\""), std::string::npos)
        << "nobody is told where it is: " << answer.body;
  }
  opened("one").failure.reset();
  EXPECT_EQ(get("/edge/tiles/world/1/0/0").status, 200) << "errors are not remembered";
}

TEST_F(TileRoutes, ATileThatIsLateIsCountedOnce) {
  prepare = [](TestPack& pack) { pack.takes = 30s; };
  start_world();
  EXPECT_EQ(get("/edge/tiles/world/1/0/0", "Request-Timeout: 1\r\n").status, 504);
  EXPECT_EQ(counted("edge_rejects_total", "timeout"), 1);
}

TEST_F(TileRoutes, ManyWhoMissTheSameTileAreOneRead) {
  prepare = [](TestPack& pack) { pack.takes = 100ms; };
  start_world();
  std::vector<std::unique_ptr<http::test::RawClient>> clients;
  for (int i = 0; i < 20; ++i) {
    clients.push_back(std::make_unique<http::test::RawClient>(world_, peer_, endpoint_));
    clients.back()->send("GET /edge/tiles/world/2/1/0 HTTP/1.1\r\nHost: x\r\n\r\n");
  }
  for (auto& client : clients) EXPECT_EQ(client->answer().body, "one 2/1/0");
  EXPECT_EQ(opened("one").asked, 1U);
}

TEST_F(TileRoutes, TheFileIsSentInPiecesAndRanges) {
  const std::string text = "PMTiles" + std::string(700'000, 'p') + "end";
  write("/maps", "world.pmtiles", text);
  start({}, kWorld);
  const Answer whole = get("/edge/packs/world.pmtiles");
  EXPECT_EQ(whole.status, 200);
  EXPECT_EQ(whole.body, text);
  EXPECT_TRUE(whole.says("Content-Type: application/vnd.pmtiles"));
  EXPECT_TRUE(whole.says("ETag: \"" + tag_of(text) + "\""));
  EXPECT_TRUE(whole.says("Accept-Ranges: bytes"));
  EXPECT_LE(opened(text).largest_read, 256U << 10);
  const Answer part = get("/edge/packs/world.pmtiles", "Range: bytes=0-6\r\n");
  EXPECT_EQ(part.status, 206);
  EXPECT_EQ(part.body, "PMTiles");
  EXPECT_EQ(get("/edge/packs/world.pmtiles", "Range: bytes=-3\r\n").body, "end");
  EXPECT_EQ(get("/edge/packs/world.pmtiles", "Range: bytes=800000-\r\n").status, 416);
  EXPECT_EQ(get("/edge/packs/world.pmtiles", "If-None-Match: \"" + tag_of(text) + "\"\r\n").status,
            304);
  EXPECT_TRUE(ask("HEAD", "/edge/packs/world.pmtiles")
                  .says("Content-Length: " + std::to_string(text.size())));
  EXPECT_EQ(get("/edge/packs/other.pmtiles").status, 404);
  EXPECT_EQ(get("/edge/packs/world").status, 404);
}

TEST_F(TileRoutes, TheFileOfAnMbtilesPackIsNotGiven) {
  prepare = [](TestPack& pack) { pack.info_.format = pack::Format::Mbtiles; };
  start_world();
  EXPECT_EQ(get("/edge/packs/world.pmtiles").status, 404);
  EXPECT_EQ(get("/edge/tiles/world/1/0/0").status, 200);
}

TEST_F(TileRoutes, TileJsonNamesTheServerAsTheClientDoes) {
  start_world();
  const Answer answer = get("/edge/tiles/world.json");
  EXPECT_EQ(answer.status, 200);
  EXPECT_TRUE(answer.says("Content-Type: application/json"));
  EXPECT_TRUE(answer.says("Cache-Control: no-cache"));
  EXPECT_NE(answer.body.find(R"("tilejson":"3.0.0")"), std::string::npos) << answer.body;
  EXPECT_NE(answer.body.find(R"("tiles":["http://maps.example/edge/tiles/world/{z}/{x}/{y}.mvt"])"),
            std::string::npos)
      << answer.body;
  EXPECT_EQ(
      get("/edge/tiles/world.json", "If-None-Match: \"" + tag_of(answer.body) + "\"\r\n").status,
      304);
  EXPECT_EQ(get("/edge/tiles/other.json").status, 404);
  EXPECT_EQ(get("/edge/tiles/world").status, 404);
}

TEST_F(TileRoutes, APublicUrlComesBeforeWhatARequestSays) {
  start_world({"edge.tiles.public_url=https://maps.example.org/"});
  const Answer answer = get("/edge/tiles/world.json", "X-Forwarded-Host: evil.example\r\n");
  EXPECT_NE(answer.body.find(R"("https://maps.example.org/edge/tiles/world/{z})"),
            std::string::npos)
      << answer.body;
}

TEST_F(TileRoutes, ARealFileIsServed) {
  pack::PmtilesHeader header = pack::test::sample_header(1);
  header.tile_type = pack::TileType::Mvt;
  header.tile_compression = pack::Compression::Gzip;
  const std::string file =
      pack::test::pmtiles_of({{0, gzip("world")}, {1, gzip("north-west")}}, header);
  are_real = true;
  write("/maps", "world.pmtiles", file);
  write("/maps", "broken.pmtiles", file.substr(0, file.size() - 1));
  start({}, kWorld + "[[edge.packs]]\nname = \"broken\"\npath = \"/maps/broken.pmtiles\"\n");
  EXPECT_EQ(get("/edge/tiles/world/1/0/0.mvt").body, "north-west");
  EXPECT_EQ(get("/edge/tiles/world/0/0/0.mvt", kGzip).body, gzip("world"));
  EXPECT_EQ(get("/edge/tiles/world/1/1/1.mvt").status, 204);
  EXPECT_EQ(get("/edge/packs/world.pmtiles").body, file);
  EXPECT_NE(get("/edge/tiles/world.json").body.find("\"name\":\"sample\""), std::string::npos);
  EXPECT_NE(get("/edge/packs").body.find("\"name\":\"broken\",\"state\":\"refused\""),
            std::string::npos);
}

TEST_F(TileRoutes, PagesOfOtherOriginsAreDeniedByDefault) {
  start_world();
  const Answer answer = get("/edge/tiles/world/1/0/0", "Origin: https://app.example\r\n");
  EXPECT_EQ(answer.status, 200) << "it is answered, and the browser withholds it";
  EXPECT_EQ(answer.head.find("Access-Control"), std::string::npos);
  EXPECT_EQ(ask("OPTIONS", "/edge/tiles/world/1/0/0",
                "Origin: https://app.example\r\nAccess-Control-Request-Method: GET\r\n")
                .status,
            403);
}

TEST_F(TileRoutes, PagesOfAnAllowedOriginMayRead) {
  start_world({"edge.cors.allow_origins=[\"https://app.example\"]"});
  const std::string mine = "Origin: https://app.example\r\n";
  const Answer answer = get("/edge/tiles/world/1/0/0", mine);
  EXPECT_TRUE(answer.says("Access-Control-Allow-Origin: https://app.example"));
  EXPECT_TRUE(answer.says("Vary: Origin"));
  EXPECT_TRUE(answer.says("Vary: Accept-Encoding"));
  EXPECT_TRUE(
      get("/edge/tiles/other.json", mine).says("Access-Control-Allow-Origin: https://app.example"))
      << "an error, too";
  for (const char* other : {"Origin: https://app.example.evil\r\n", ""}) {
    const Answer denied = get("/edge/tiles/world/1/0/0", other);
    EXPECT_EQ(denied.head.find("Access-Control"), std::string::npos) << other;
    EXPECT_TRUE(denied.says("Vary: Origin")) << "a cache must not give it to the other";
  }
  const std::string method = "Access-Control-Request-Method: ";
  const Answer preflight =
      ask("OPTIONS", "/edge/packs/world.pmtiles",
          mine + method + "GET\r\nAccess-Control-Request-Headers: range, if-match\r\n");
  EXPECT_EQ(preflight.status, 204);
  EXPECT_TRUE(preflight.says("Access-Control-Allow-Origin: https://app.example"));
  EXPECT_TRUE(preflight.says("Access-Control-Allow-Methods: GET, HEAD"));
  EXPECT_TRUE(preflight.says("Access-Control-Allow-Headers: range, if-match"));
  EXPECT_EQ(ask("OPTIONS", "/edge/tiles/world.json", mine + method + "DELETE\r\n").status, 403);
  EXPECT_TRUE(ask("OPTIONS", "/edge/tiles/world.json").says("Allow: GET, HEAD, OPTIONS"));
  reload({"edge.cors.allow_origins=[\"*\"]"}, kWorld);
  const Answer any = get("/edge/tiles/world/1/0/0");
  EXPECT_TRUE(any.says("Access-Control-Allow-Origin: *"));
  EXPECT_FALSE(any.says("Vary: Origin")) << "it is the same for everybody";
}

TEST_F(TileRoutes, PacksAreListed) {
  write("/maps", "broken.pmtiles", "bad: no header");
  start_world({}, "[[edge.packs]]\nname = \"broken\"\npath = \"/maps/broken.pmtiles\"\n");
  const Answer answer = get("/edge/packs");
  EXPECT_EQ(answer.status, 200);
  EXPECT_NE(answer.body.find(R"({"name":"broken","state":"refused","source":"configuration",)"
                             R"("error":"broken.pmtiles: bad: no header"})"),
            std::string::npos)
      << answer.body;
  EXPECT_NE(answer.body.find(R"({"name":"world","state":"mounted","source":"configuration",)"
                             R"("format":"pmtiles","type":"mvt","min_zoom":1,"max_zoom":3,)"
                             R"("tiles":84,"bytes":3,"hash":")" +
                             tag_of("one") + "\""),
            std::string::npos)
      << answer.body;
  EXPECT_EQ(get("/edge/tiles/broken/1/0/0").status, 503);
}

}  // namespace
}  // namespace ron::edge
