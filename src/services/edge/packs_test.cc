// Packs as they come, change and go.
#include "services/edge/packs.h"

#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "services/edge/test_packs.h"

namespace ron::edge {
namespace {

using http::test::Answer;
using http::test::RawClient;
using platform::Task;
using platform::test::Root;
using testing::tag_of;
using testing::TestPack;
using namespace std::chrono_literals;

const std::string kWorld = "[[edge.packs]]\nname = \"world\"\npath = \"/maps/world.pmtiles\"\n";
constexpr const char* kTile = "/edge/tiles/world/2/1/0";

class PacksTest : public testing::EdgePacks {
 protected:
  std::string state_of(const std::string& name) {
    const MountEntry* const entry = core_->packs().table()->find(name);
    if (entry == nullptr) return "unknown";
    return (entry->mount ? "mounted" : "not mounted") +
           (entry->error.empty() ? "" : ": " + entry->error);
  }
  // What was audited since listen(), in order.
  std::vector<std::string> audited() {
    world_.run_for(1ms);
    return std::exchange(heard_, {});
  }
  void listen() {
    listener_ = std::make_unique<Root>(node_.core(), collect(&core_->events(), &heard_));
    world_.run_for(0ms);
  }
  void deafen() { listener_.reset(); }
  // A mounted file is another from now on, and the keeper is busy with it for a minute.
  void verify_anew(const std::string& file, const std::string& text) {
    listen();
    opening_takes = 1min;
    write("/maps", file, text);
    world_.run_for(5s);
    opening_takes = 1ms;
    EXPECT_EQ(audited(), std::vector<std::string>());
  }

 private:
  static Task<void> collect(runtime::Broadcast<EdgeEvent>* events, std::vector<std::string>* out) {
    auto subscription = events->subscribe();
    for (;;) {
      const auto heard = co_await subscription.recv();
      if (!heard) co_return;
      const auto* const event = std::get_if<EdgeEvent>(&*heard);
      if (event != nullptr) out->push_back(std::string(name(event->kind)) + " " + event->subject);
    }
  }

  std::vector<std::string> heard_;
  std::unique_ptr<Root> listener_;
};

TEST(PackName, IsFitForAUrl) {
  EXPECT_TRUE(is_pack_name("world"));
  EXPECT_TRUE(is_pack_name("osm-2026_01.5"));
  EXPECT_TRUE(is_pack_name(std::string(64, 'a')));
  for (const std::string& name :
       {std::string(), std::string(65, 'a'), std::string("World"), std::string(".."),
        std::string(".hidden"), std::string("a/b"), std::string("a b"), std::string("\xC3\xBC")}) {
    EXPECT_FALSE(is_pack_name(name)) << name;
  }
}

TEST(PackConfiguration, NamesAndThePublicUrlAreChecked) {
  const auto problems_of = [](const std::string& flag, const std::string& file) {
    config::Schema schema;
    schema.add(edge_section());
    config::Inputs inputs;
    if (!flag.empty()) inputs.flags = {flag};
    inputs.file_name = "ron.toml";
    inputs.file_text = file;
    const auto config = config::load(schema, inputs);
    return config ? std::string() : config.error().text();
  };
  EXPECT_EQ(problems_of("", kWorld), "");
  EXPECT_NE(problems_of("", kWorld + kWorld).find("there twice"), std::string::npos);
  EXPECT_NE(problems_of("", "[[edge.packs]]\nname = \"A b\"\npath = \"/m\"\n").find("no name"),
            std::string::npos);
  for (const char* fine : {"https://maps.example.org", "http://[::1]:8080/maps/"}) {
    EXPECT_EQ(problems_of(std::string("edge.tiles.public_url=") + fine, ""), "");
  }
  for (const char* wrong :
       {"maps.example.org", "ftp://x", "https://", "https://a b", "https://x\"y"}) {
    EXPECT_NE(problems_of(std::string("edge.tiles.public_url=") + wrong, ""), "") << wrong;
  }
}

TEST_F(PacksTest, ABadConfiguredPackDoesNotStopTheOthers) {
  write("/maps", "world.pmtiles", "one");
  write("/maps", "broken.pmtiles", "bad: no header");
  start({}, kWorld + "[[edge.packs]]\nname = \"broken\"\npath = \"/maps/broken.pmtiles\"\n" +
                "[[edge.packs]]\nname = \"absent\"\npath = \"/maps/absent.pmtiles\"\n");
  EXPECT_EQ(state_of("world"), "mounted");
  EXPECT_EQ(state_of("broken"), "not mounted: /maps/broken.pmtiles: bad: no header");
  EXPECT_EQ(core_->packs().missing(), (std::vector<std::string>{"pack absent", "pack broken"}));
  EXPECT_EQ(core_->packs().mounted(), 1U);
  EXPECT_EQ(get(kTile).body, "one 2/1/0");
}

TEST_F(PacksTest, NobodyWaitsForALargePackToBeReady) {
  write("/maps", "world.pmtiles", "one");
  opening_takes = 10min;
  run_core({"edge.workers=4", "edge.loaders=4"}, kWorld);
  world_.run_for(30s);
  const kit::Readiness state = core_->readiness();
  EXPECT_TRUE(state.ready && state.write_ready);
  EXPECT_TRUE(state.degraded);
  EXPECT_EQ(state.missing, std::vector<std::string>{"pack world is being verified"});
  EXPECT_EQ(get(kTile).status, 503);
  world_.run_for(10min);
  EXPECT_EQ(state_of("world"), "mounted");
}

TEST_F(PacksTest, ARefusedPackIsTriedAgainWhenItsFileChanges) {
  write("/maps", "world.pmtiles", "bad: cut short");
  start({}, kWorld);
  listen();
  world_.run_for(10s);
  EXPECT_EQ(audited(), std::vector<std::string>()) << "said once, not at every look";
  write("/maps", "world.pmtiles", "whole");
  world_.run_for(5s);
  EXPECT_EQ(state_of("world"), "mounted");
  EXPECT_EQ(audited(), std::vector<std::string>{"pack mounted world"});
}

TEST_F(PacksTest, ABadReplacementLeavesTheOldMount) {
  write("/maps", "world.pmtiles", "one");
  start({}, kWorld);
  listen();
  write("/maps", "world.pmtiles", "bad: two");
  world_.run_for(5s);
  EXPECT_EQ(get(kTile).body, "one 2/1/0");
  EXPECT_EQ(state_of("world"), "mounted: /maps/world.pmtiles: bad: two");
  EXPECT_EQ(audited(), std::vector<std::string>{"pack refused world"});
  write("/maps", "world.pmtiles", "three");
  world_.run_for(5s);
  EXPECT_EQ(get(kTile).body, "three 2/1/0");
  EXPECT_EQ(state_of("world"), "mounted");
}

TEST_F(PacksTest, AFileThatGoesAwayIsServedAsLongAsItIsConfigured) {
  write("/maps", "world.pmtiles", "one");
  start({}, kWorld);
  remove("/maps/world.pmtiles");
  world_.run_for(3s);
  EXPECT_EQ(get(kTile).body, "one 2/1/0");
  EXPECT_NE(state_of("world"), "mounted") << "and it is said";
  reload({}, "");
  EXPECT_EQ(get(kTile).status, 404);
}

TEST_F(PacksTest, ADirectoryIsFollowed) {
  write("/packs", "a.pmtiles", "first");
  write("/packs", "README.txt", "not a pack");
  write("/packs", "Bad Name.pmtiles", "first");
  start({"edge.packs_dir=/packs"});
  EXPECT_EQ(core_->packs().mounted(), 1U);
  EXPECT_EQ(get("/edge/tiles/a/1/0/0").body, "first 1/0/0");
  write("/packs", "b.mbtiles", "second");
  world_.run_for(5s);
  EXPECT_EQ(get("/edge/tiles/b/1/0/0").body, "second 1/0/0");
  write("/packs", "a.pmtiles", "third");
  world_.run_for(5s);
  EXPECT_EQ(get("/edge/tiles/a/1/0/0").body, "third 1/0/0");
  remove("/packs/a.pmtiles");
  world_.run_for(5s);
  EXPECT_EQ(get("/edge/tiles/a/1/0/0").status, 404);
  EXPECT_EQ(get("/edge/tiles/b/1/0/0").status, 200);
}

TEST_F(PacksTest, AFileIsTakenWhenNobodyWritesItAnyMore) {
  write("/packs", "a.pmtiles", "first");
  start({"edge.packs_dir=/packs"});
  listen();
  for (int i = 0; i < 5; ++i) {
    write("/packs", "b.pmtiles", "bad: part " + std::to_string(i));
    world_.run_for(2s);
  }
  EXPECT_EQ(audited(), std::vector<std::string>()) << "it was never the same twice";
  write("/packs", "b.pmtiles", "whole");
  world_.run_for(5s);
  EXPECT_EQ(audited(), std::vector<std::string>{"pack mounted b"});
}

TEST_F(PacksTest, AnyFileIsTakenWhenNobodyWritesItAnyMore) {
  write("/maps", "world.pmtiles", "one");
  write("/maps", "added.pmtiles", "two");
  start({}, kWorld);
  ASSERT_EQ(add_pack("added", "/maps/added.pmtiles").status, 201) << "at once";
  listen();
  for (int i = 0; i < 5; ++i) {
    write("/maps", "world.pmtiles", "part " + std::to_string(i));
    write("/maps", "added.pmtiles", "part " + std::to_string(i));
    world_.run_for(2s);
  }
  EXPECT_EQ(audited(), std::vector<std::string>()) << "they were never the same twice";
  EXPECT_EQ(get(kTile).body, "one 2/1/0");
  world_.run_for(5s);
  EXPECT_EQ(audited(), (std::vector<std::string>{"pack mounted added", "pack mounted world"}));
  EXPECT_EQ(get(kTile).body, "part 4 2/1/0");
}

TEST_F(PacksTest, WhatDidNotFailBecauseOfTheFileIsTriedAgain) {
  write("/maps", "world.pmtiles", "one");
  opening_fails = base::Error(base::Code::Busy, "the pool is full");
  start({}, kWorld);
  EXPECT_EQ(state_of("world"), "not mounted: the pool is full");
  listen();
  world_.run_for(30s);
  EXPECT_EQ(audited(), std::vector<std::string>()) << "said once, not at every try";
  opening_fails.reset();
  world_.run_for(70s);
  EXPECT_EQ(state_of("world"), "mounted");
  EXPECT_EQ(audited(), std::vector<std::string>{"pack mounted world"});
}

TEST_F(PacksTest, WhatIsReplacedWhileItIsVerifiedIsNotMountedAnyMore) {
  write("/maps", "a.pmtiles", "one");
  write("/maps", "b.pmtiles", "two");
  start();
  ASSERT_EQ(add_pack("world", "/maps/a.pmtiles").status, 201);
  verify_anew("a.pmtiles", "three");
  ASSERT_EQ(add_pack("world", "/maps/b.pmtiles").status, 200);
  world_.run_for(2min);
  EXPECT_EQ(audited(), std::vector<std::string>{"pack mounted world"});
  EXPECT_EQ(core_->packs().table()->find("world")->mount->file_tag, tag_of("two"));
}

TEST_F(PacksTest, WhatIsRemovedWhileItIsVerifiedIsNotMountedAnyMore) {
  write("/maps", "a.pmtiles", "one");
  start();
  ASSERT_EQ(add_pack("world", "/maps/a.pmtiles").status, 201);
  verify_anew("a.pmtiles", "two");
  ASSERT_EQ(ask("DELETE", "/admin/packs/world").status, 204);
  world_.run_for(2min);
  EXPECT_EQ(audited(), std::vector<std::string>{"pack removed world"});
  EXPECT_EQ(state_of("world"), "unknown");
}

TEST_F(PacksTest, AReloadWhileAPackIsVerifiedCounts) {
  write("/maps", "world.pmtiles", "one");
  write("/maps", "other.pmtiles", "two");
  start({}, kWorld);
  verify_anew("world.pmtiles", "three");
  reload({}, "[[edge.packs]]\nname = \"world\"\npath = \"/maps/other.pmtiles\"\n");
  world_.run_for(2min);
  EXPECT_EQ(audited(), std::vector<std::string>{"pack mounted world"});
  EXPECT_EQ(core_->packs().table()->find("world")->mount->file_tag, tag_of("two"));
}

// The other's file takes a minute; what was there when the look began is long out of date.
TEST_F(PacksTest, WhatIsBehindAPackThatIsVerifiedIsAskedForAnew) {
  write("/maps", "a.pmtiles", "one");
  write("/maps", "b.pmtiles", "two");
  start();
  ASSERT_EQ(add_pack("a", "/maps/a.pmtiles").status, 201);
  ASSERT_EQ(add_pack("world", "/maps/b.pmtiles").status, 201);
  verify_anew("a.pmtiles", "three");
  ASSERT_EQ(ask("DELETE", "/admin/packs/world").status, 204);
  world_.run_for(2min);
  EXPECT_EQ(audited(), (std::vector<std::string>{"pack removed world", "pack mounted a"}));
}

TEST_F(PacksTest, ADirectoryThatCannotBeReadTakesNothingAway) {
  write("/packs", "a.pmtiles", "first");
  start({"edge.packs_dir=/packs"});
  node_.disk().fail_next(platform::sim::DiskOp::Name, 2);
  world_.run_for(3s);
  EXPECT_EQ(get("/edge/tiles/a/1/0/0").status, 200);
}

TEST_F(PacksTest, AnAddedPackIsThereAgainAfterARestart) {
  write("/maps", "world.pmtiles", "one");
  start();
  listen();
  const Answer added = add_pack("world", "/maps/world.pmtiles");
  EXPECT_EQ(added.status, 201);
  EXPECT_NE(added.body.find("\"hash\":\"" + tag_of("one")), std::string::npos) << added.body;
  EXPECT_EQ(get(kTile).body, "one 2/1/0");
  EXPECT_EQ(add_pack("world", "/maps/world.pmtiles").status, 200) << "the name was taken";
  EXPECT_EQ(audited(), std::vector<std::string>{"pack mounted world"})
      << "the same file is not verified again";
  deafen();
  start();
  EXPECT_EQ(get(kTile).body, "one 2/1/0");
  EXPECT_EQ(ask("DELETE", "/admin/packs/world").status, 204);
  EXPECT_EQ(get(kTile).status, 404);
  EXPECT_EQ(ask("DELETE", "/admin/packs/world").status, 404);
  start();
  EXPECT_EQ(get(kTile).status, 404);
}

TEST_F(PacksTest, APackThatDoesNotVerifyIsRefusedWithItsReason) {
  write("/maps", "world.pmtiles", "one");
  write("/maps", "broken.pmtiles", "bad: no header");
  start();
  EXPECT_EQ(add_pack("world", "/maps/world.pmtiles").status, 201);
  listen();
  const Answer refused = add_pack("world", "/maps/broken.pmtiles");
  EXPECT_EQ(refused.status, 400);
  EXPECT_NE(refused.body.find("no header"), std::string::npos) << refused.body;
  EXPECT_EQ(get(kTile).body, "one 2/1/0");
  EXPECT_EQ(add_pack("other", "/maps/absent.pmtiles").status, 404);
  EXPECT_EQ(state_of("other"), "unknown");
  EXPECT_EQ(audited(), (std::vector<std::string>{"pack refused world", "pack refused other"}));
  for (const char* body :
       {R"({"name":"World","path":"/m"})", R"({"name":"w","path":"relative"})", R"({"name":"w"})",
        R"({"name":"w","path":"/m","missing":"500"})", R"({"name":"w","path":"/m","more":1})"}) {
    EXPECT_EQ(ask("POST", "/admin/packs", "", body).status, 400) << body;
  }
}

TEST_F(PacksTest, TheMemoryOfAllTogetherIsBounded) {
  prepare = [](TestPack& pack) { pack.info_.memory_bytes = Packs::kMostIndexBytes / 2 + 1; };
  write("/maps", "a.pmtiles", "one");
  write("/maps", "b.pmtiles", "two");
  start();
  ASSERT_EQ(add_pack("a", "/maps/a.pmtiles").status, 201);
  const Answer refused = add_pack("b", "/maps/b.pmtiles");
  EXPECT_NE(refused.body.find("\"Quota\""), std::string::npos) << refused.body;
  EXPECT_EQ(state_of("b"), "unknown");
  EXPECT_EQ(add_pack("a", "/maps/b.pmtiles").status, 200) << "in place of the other";
}

TEST_F(PacksTest, NamesOfTheConfigurationAndTheDirectoryAreNotForOperators) {
  write("/maps", "world.pmtiles", "one");
  write("/packs", "a.pmtiles", "first");
  start({"edge.packs_dir=/packs"}, kWorld);
  for (const char* name : {"world", "a"}) {
    EXPECT_EQ(add_pack(name, "/maps/world.pmtiles").status, 403) << name;
    EXPECT_EQ(ask("DELETE", std::string("/admin/packs/") + name).status, 403) << name;
    EXPECT_EQ(state_of(name), "mounted");
  }
}

TEST_F(PacksTest, AnAnswerThatHasBegunKeepsItsMount) {
  const std::string old = "one" + std::string(3'000'000, 'x');
  write("/maps", "world.pmtiles", old);
  start({}, kWorld);
  client_->send("GET /edge/packs/world.pmtiles HTTP/1.1\r\nHost: x\r\n\r\n");
  world_.run_for(3ms);
  EXPECT_FALSE(client_->received.empty());
  write("/maps", "world.pmtiles", "two");
  const Answer answer = client_->answer();
  EXPECT_TRUE(answer.says("ETag: \"" + tag_of(old) + "\""));
  EXPECT_EQ(answer.body, old);
}

// Every answer is of one generation, and its tag is that of its body.
TEST_F(PacksTest, ReplacedUnderLoadNothingIsMixed) {
  write("/maps", "world.pmtiles", "v0");
  prepare = [](TestPack& pack) { pack.takes = 3ms; };
  start();
  ASSERT_EQ(add_pack("world", "/maps/world.pmtiles").status, 201);
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int i = 0; i < 8; ++i) {
    clients.push_back(std::make_unique<RawClient>(world_, peer_, endpoint_));
  }
  std::size_t answers = 0;
  int seen = 0;
  for (int round = 1; round <= 100; ++round) {
    for (std::size_t i = 0; i < clients.size(); ++i) {
      const std::string place = "2/" + std::to_string(i % 4) + "/" + std::to_string(round % 4);
      clients[i]->send("GET /edge/tiles/world/" + place + " HTTP/1.1\r\nHost: x\r\n\r\n");
    }
    if (round % 2 == 0) world_.run_for(2ms);
    write("/maps", "world.pmtiles", "v" + std::to_string(round));
    ASSERT_EQ(add_pack("world", "/maps/world.pmtiles").status, 200);
    for (std::size_t i = 0; i < clients.size(); ++i) {
      const Answer answer = clients[i]->answer();
      ASSERT_EQ(answer.status, 200);
      ASSERT_TRUE(answer.says("ETag: \"" + tag_of(answer.body) + "\"")) << answer.head;
      const std::string place = " 2/" + std::to_string(i % 4) + "/" + std::to_string(round % 4);
      ASSERT_TRUE(answer.body.ends_with(place)) << answer.body;
      const int generation = std::stoi(answer.body.substr(1));
      ASSERT_TRUE(generation == round - 1 || generation == round) << answer.body;
      seen = std::max(seen, generation);
      ++answers;
    }
    ASSERT_EQ(get("/edge/tiles/world/1/0/0").body, "v" + std::to_string(round) + " 1/0/0");
  }
  EXPECT_EQ(answers, 800U);
  EXPECT_GE(seen, 99);
}

}  // namespace
}  // namespace ron::edge
