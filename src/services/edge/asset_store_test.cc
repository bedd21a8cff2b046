// The promise of the cache on disk, among power cuts: what is answered is exactly what the origin
// said for that URL, or nothing.
#include "services/edge/asset_store.h"

#include <chrono>

#include <gtest/gtest.h>

#include "services/edge/test_assets.h"

namespace ron::edge {
namespace {

using namespace std::chrono_literals;
using testing::Answer;
using testing::Asked;
using testing::EdgeLife;
using testing::fresh_for;
using testing::noise;
using testing::OriginAnswer;
using testing::ScriptedOrigins;

// A URL's bytes never change in these tests, so any other ones are wrong.
std::string body_of(const std::string& target) {
  const std::uint64_t number = std::stoull(target.substr(target.rfind('/') + 1));
  if (number % 5 == 0) return "the same for several";
  if (number % 11 == 3) return noise(9'000'000 + number, number);
  return noise(1 + (number * 7919) % 200'000, number);
}

struct History {
  explicit History(std::uint64_t seed) : world(seed), dice(seed) {
    origins.script = [this](const FetchRequest& request) {
      OriginAnswer answer;
      answer.body = body_of(request.target);
      answer.says_length = dice.below(2) == 0;
      answer.takes = std::chrono::milliseconds(dice.below(20));
      answer.fields = fresh_for(1 + static_cast<int>(dice.below(1000)));
      if (dice.below(10) == 0) {
        answer.error = base::Error(base::Code::UpstreamFail, "it broke");
        answer.sent = answer.body.size() / 2;
      }
      return answer;
    };
  }
  void live() {
    life.emplace(world, node, origins,
                 std::vector<std::string>{"edge.mode=live", "edge.cache.bytes=24MiB",
                                          "edge.cache.ram_bytes=0", "edge.workers=4"},
                 "/edge");
  }
  void ask(int count) {
    for (int i = 0; i < count; ++i) {
      targets.push_back("/edge/assets/example.org/" + std::to_string(dice.below(40)));
      asked.push_back(life->ask(targets.back()));
    }
  }
  void judge() {
    for (std::size_t i = 0; i < asked.size(); ++i) {
      if (!asked[i]->done()) continue;
      const Answer& answer = **asked[i];
      if (answer.status != 200 || answer.is_cut) continue;
      ++whole;
      EXPECT_TRUE(answer.body == body_of(targets[i])) << targets[i] << " seed " << world.seed();
    }
    asked.clear();
    targets.clear();
  }

  platform::sim::World world;
  platform::sim::Node& node = world.add_node();
  platform::FastRandom dice;
  ScriptedOrigins origins{node.clock()};
  std::optional<EdgeLife> life;
  std::vector<std::unique_ptr<Asked>> asked;
  std::vector<std::string> targets;
  int whole = 0;
};

TEST(AssetStore, PowerCutsNeverMakeAWrongOrPartialObject) {
  int whole = 0;
  int kept = 0;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    History run(seed);
    for (int i = 0; i < 6; ++i) {
      run.live();
      kept += static_cast<int>(run.life->table().entries());
      run.ask(12);
      run.world.run_for(std::chrono::milliseconds(run.dice.below(4'000)));
      run.judge();
      run.ask(12);
      run.world.run_for(std::chrono::milliseconds(run.dice.below(200)));
      run.judge();
      run.node.power_cut();
      run.life.reset();
      run.node.restart();
    }
    whole += run.whole;
  }
  EXPECT_GT(whole, 300);
  EXPECT_GT(kept, 20);  // and what was noted in time is there again
}

TEST(AssetStore, WhatNobodyKnowsAnyMoreIsRemoved) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    History run(seed);
    run.live();
    run.ask(40);
    run.world.run_for(3s);
    run.asked.clear();
    // The map forgets what was not flushed; the volume has it all.
    run.node.power_cut();
    run.life.reset();
    run.node.restart();
    run.live();
    run.world.run_for(10s);
    const auto stats = run.life->core().assets().store()->volume().stats();
    std::uint64_t known = run.life->table().entries();
    EXPECT_LE(stats.objects, known) << seed;
    run.life->stop();
  }
}

// Changes are taken between the pages of a sweep, and a stop need not wait for its end.
TEST(AssetStore, NobodyWaitsForAllOfASweep) {
  for (const bool is_stopped : {false, true}) {
    History run(1);
    run.live();
    run.origins.script = [](const FetchRequest& request) {
      OriginAnswer answer;
      answer.body = request.target;
      answer.fields = fresh_for(1000);
      answer.takes = 0s;
      return answer;
    };
    constexpr int kObjects = 1'000;
    for (int i = 0; i < kObjects; ++i) {
      run.asked.push_back(run.life->ask("/edge/assets/example.org/" + std::to_string(i)));
      if (i % 100 == 99) run.world.run_for(1s);
    }
    run.asked.clear();
    run.life->stop();
    run.life.reset();
    run.node.key_values().damage("/edge/entries");
    run.live();
    const auto objects = [&] {
      return run.life->core().assets().store()->volume().stats().objects;
    };
    ASSERT_EQ(objects(), kObjects);
    if (is_stopped) {
      run.life->stop();
    } else {
      run.life->purge([](const Asset&) { return true; });
    }
    EXPECT_GT(objects(), kObjects / 2);
    if (is_stopped) {
      run.life.reset();
      run.live();
    }
    run.world.run_for(60s);
    EXPECT_EQ(objects(), 0U);
  }
}

template <class T>
platform::Task<void> keep(platform::Task<T> task, T* out) {
  *out = co_await task;
}

// An entry that says nothing is removed, too: nobody would ever ask for it.
TEST(AssetStore, EntriesThatSayNothingAreErased) {
  History run(1);
  run.live();
  run.life->get("/edge/assets/example.org/1");
  run.life->stop();
  run.life.reset();
  const auto entries = [&](const std::string& added) {
    using base::Result;
    Result<std::unique_ptr<platform::KeyValue>> map = nullptr;
    Result<void> written;
    Result<std::vector<platform::KeyValuePair>> found;
    const auto wait_for = [&](platform::Task<void> task) {
      const platform::test::Root root(run.node.core(), std::move(task));
      EXPECT_EQ(run.world.run_until([&] { return root.done(); }, 1min),
                platform::sim::Outcome::Done);
    };
    wait_for(keep(run.node.key_values().open("/edge/entries", {}), &map));
    platform::KeyValueBatch batch;
    if (!added.empty()) batch.put(added, "nothing");
    if (!added.empty()) wait_for(keep((*map)->write(std::move(batch)), &written));
    wait_for(keep((*map)->flush(), &written));
    wait_for(keep((*map)->scan("", "", 100), &found));
    return found->size();
  };
  EXPECT_EQ(entries("a hold"), 2U);
  run.live();
  EXPECT_EQ(run.life->table().entries(), 1U);
  run.world.run_for(5s);
  run.life->stop();
  run.life.reset();
  EXPECT_EQ(entries(""), 1U);
}

TEST(AssetStore, AMapThatIsDamagedBeginsAnew) {
  History run(1);
  run.live();
  const Answer before = run.life->get("/edge/assets/example.org/1");
  run.life->stop();
  run.life.reset();
  run.node.key_values().damage("/edge/entries");
  run.live();
  EXPECT_EQ(run.life->table().entries(), 0U);
  run.world.run_for(5s);
  EXPECT_EQ(run.life->core().assets().store()->volume().stats().objects, 0U);
}

// An asset that goes while the same bytes are held for another URL leaves them to that one.
TEST(AssetStore, TheSameBytesGoWithTheLastUrl) {
  History run(1);
  run.origins.script = [](const FetchRequest& request) {
    OriginAnswer answer;
    answer.body = body_of(request.target);
    answer.fields = fresh_for(1000);
    return answer;
  };
  run.live();
  run.life->get("/edge/assets/example.org/5");
  run.life->get("/edge/assets/example.org/10");
  const auto objects = [&] {
    run.world.run_for(1s);
    return run.life->core().assets().store()->volume().stats().objects;
  };
  EXPECT_EQ(objects(), 1U);
  run.life->purge([](const Asset& one) { return one.facts.url.ends_with("/5"); });
  EXPECT_EQ(objects(), 1U);
  EXPECT_EQ(run.life->get("/edge/assets/example.org/10").field("X-Cache"), "hit");
  run.life->purge([](const Asset& one) { return one.facts.url.ends_with("/10"); });
  EXPECT_EQ(objects(), 0U);
}

// Everyone who waits for a fill leaves: what it has written goes again.
TEST(AssetStore, AnAbandonedFillLeavesNothing) {
  History run(1);
  for (const bool says_length : {true, false}) {
    run.origins.script = [&](const FetchRequest&) {
      OriginAnswer answer;
      answer.body = noise(12'000'000);
      answer.says_length = says_length;
      answer.fields = fresh_for(1000);
      answer.takes = 0s;
      return answer;
    };
    run.live();
    for (int i = 0; i < 40; ++i) {
      auto asked = run.life->ask("/edge/assets/example.org/1");
      run.world.run_for(std::chrono::milliseconds(1 + i / 2));
      if (asked->done()) break;
      asked.reset();
      run.world.run_for(100ms);
    }
    run.life->purge([](const Asset&) { return true; });
    run.world.run_for(5s);
    const auto stats = run.life->core().assets().store()->volume().stats();
    EXPECT_EQ(stats.objects, 0U);
    EXPECT_EQ(stats.uploads, 0U);
    run.life->stop();
  }
}

}  // namespace
}  // namespace ron::edge
