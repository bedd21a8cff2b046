#include "services/storage/announcer.h"

#include <algorithm>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "b3/hash.h"
#include "observe/log.h"
#include "services/storage/local_api.h"
#include "services/storage/test_core.h"

namespace ron::storage {
namespace {

using namespace std::chrono_literals;
using base::Code;
using base::Result;
using catalog::ProviderRecord;
using platform::Task;
using runtime::Deadline;

// An index that keeps the newest record of each address, and is as bad as it is told to be.
class TestIndex final : public index_api::IndexApi {
 public:
  Task<Result<std::size_t>> announce(std::vector<ProviderRecord> records,
                                     Deadline deadline) override {
    ++calls;
    sizes.push_back(records.size());
    const Deadline ready = Deadline::in(takes);
    co_await runtime::sleep_until(ready.sooner(deadline));
    if (ready > deadline) co_return base::fail(Code::Timeout, "the index is slow");
    if (error) co_return base::fail(*error);
    std::size_t accepted = 0;
    for (ProviderRecord& record : records) {
      EXPECT_TRUE(catalog::has_valid_signature(record));
      const auto known = kept.find(record.addr);
      if (known != kept.end() && known->second.seq >= record.seq) continue;
      kept.insert_or_assign(record.addr, std::move(record));
      ++accepted;
    }
    co_return accepted;
  }
  Task<Result<index_api::NamedTarget>> look_up(catalog::NameRef, Deadline) override {
    co_return base::fail(Code::NotFound, "names are not asked for here");
  }

  base::Duration takes{};
  std::optional<base::Error> error;
  std::size_t calls = 0;
  std::vector<std::size_t> sizes;
  std::map<base::ObjectId, ProviderRecord> kept;
};

class AnnouncerTest : public testing::CoreFixture {
 protected:
  void begin(const Flags& flags = {}) {
    start(flags);
    start_workers();
    api_.emplace(*core_);
    std::array<std::byte, auth::SigningKey::kSeedBytes> seed{};
    key_ = std::make_shared<const auth::SigningKey>(*auth::SigningKey::from_seed(seed));
    announcer_.emplace(
        AnnouncerParts{node_.host(), &topology_, &*api_, key_, observe::Log(hub_, meters_)},
        settings_);
  }
  void announce() { run_.emplace(node_.core(), announcer_->run(&index_, stop_)); }
  void TearDown() override {
    run_.reset();
    announcer_.reset();
    CoreFixture::TearDown();
  }
  std::vector<base::ObjectId> put_many(int count, const std::string& what = "object ") {
    std::vector<base::ObjectId> ids;
    for (int i = 0; i < count; ++i) ids.push_back(put(what + std::to_string(i)));
    return ids;
  }
  void remove(const base::ObjectId& id) { EXPECT_TRUE(get(core_->remove({id, ""}, {soon(), {}}))); }
  bool is_announced(const base::ObjectId& id) {
    const auto found = index_.kept.find(id);
    return found != index_.kept.end() &&
           found->second.expires_ms > static_cast<std::uint64_t>(world_.unix_ms());
  }
  bool all_announced(const std::vector<base::ObjectId>& ids) {
    return std::ranges::all_of(ids, [this](const auto& id) { return is_announced(id); });
  }
  ::testing::AssertionResult within(base::Duration limit, const std::function<bool()>& so) {
    const auto outcome = world_.run_until(so, limit);
    if (outcome == platform::sim::Outcome::Done) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << "not within " << base::print(limit);
  }

  AnnounceSettings settings_{.url = "http://node:8080", .region = "eu", .rps = 2000, .ttl = 24h};
  observe::LogHub hub_{{.unix_ms = [] { return std::int64_t{0}; }}};
  kit::NodeKey key_;
  TestIndex index_;
  runtime::Shutdown stop_;
  std::optional<LocalApi> api_;
  std::optional<Announcer> announcer_;
  std::optional<platform::test::Root> run_;
};

TEST_F(AnnouncerTest, SaysEverythingThatIsThereInBatches) {
  begin();
  const auto ids = put_many(600);
  announce();
  EXPECT_TRUE(within(5s, [&] { return all_announced(ids); }));
  EXPECT_EQ(index_.sizes, (std::vector<std::size_t>{256, 256, 88}));
  const ProviderRecord& record = index_.kept.at(ids[0]);
  EXPECT_EQ(record.url, "http://node:8080");
  EXPECT_EQ(record.region, "eu");
  EXPECT_EQ(record.node, key_->public_key());
  EXPECT_EQ(record.expires_ms - record.seq, 24U * 3600 * 1000);
  EXPECT_EQ(counted("storage_announced_total"), 600U);
  EXPECT_EQ(announcer_->lag_ms(), 0U);
}

TEST_F(AnnouncerTest, WhatIsNewIsSaidWithinASecond) {
  begin();
  announce();
  world_.run_for(1h);
  const auto ids = put_many(5);
  EXPECT_TRUE(within(1s, [&] { return all_announced(ids); }));
  EXPECT_EQ(index_.calls, 1U) << "they share a batch";
}

TEST_F(AnnouncerTest, WhatIsRemovedIsWithdrawn) {
  begin();
  const auto ids = put_many(3);
  announce();
  ASSERT_TRUE(within(1s, [&] { return all_announced(ids); }));
  const std::uint64_t before = index_.kept.at(ids[1]).seq;
  remove(ids[1]);
  EXPECT_TRUE(within(1s, [&] { return !is_announced(ids[1]); }));
  EXPECT_GT(index_.kept.at(ids[1]).seq, before);
  EXPECT_TRUE(is_announced(ids[0]));
  EXPECT_EQ(counted("storage_withdrawn_total"), 1U);
  put("object 1");
  EXPECT_TRUE(within(1s, [&] { return is_announced(ids[1]); })) << "and can come back";
}

TEST_F(AnnouncerTest, NothingIsLostWhileTheIndexIsBusy) {
  begin();
  auto ids = put_many(300);
  index_.error = base::Error(Code::Busy, "busy");
  announce();
  world_.run_for(1min);
  for (const auto& id : put_many(300, "later ")) ids.push_back(id);
  remove(ids[0]);
  world_.run_for(10min);
  EXPECT_TRUE(index_.kept.empty());
  EXPECT_EQ(announcer_->backlog(), 301U);
  EXPECT_GE(announcer_->lag_ms(), 660'000U);
  EXPECT_LT(index_.calls, 60U) << "it backs off";
  EXPECT_EQ(counted("storage_announce_failures_total"), index_.calls);
  index_.error.reset();
  ids.erase(ids.begin());
  EXPECT_TRUE(within(1min, [&] { return all_announced(ids); }));
  EXPECT_EQ(announcer_->backlog(), 0U);
  EXPECT_EQ(counted("storage_withdrawn_total"), 1U);
}

TEST_F(AnnouncerTest, ASlowIndexIsGivenUpAndAskedAgain) {
  begin();
  const auto ids = put_many(3);
  index_.takes = 1min;
  announce();
  world_.run_for(30s);
  EXPECT_GE(index_.calls, 2U);
  EXPECT_TRUE(index_.kept.empty());
  const platform::TimePoint before = world_.now();
  put("while it hangs");
  EXPECT_LT(world_.now() - before, 1s) << "nobody who stores waits for it";
  index_.takes = 2s;
  EXPECT_TRUE(within(2min, [&] { return all_announced(ids); }));
}

// What was listed before an object was removed must not be said after its withdrawal.
TEST_F(AnnouncerTest, WhatIsRemovedDuringAListStaysWithdrawn) {
  begin();
  const auto ids = put_many(3);
  index_.takes = 1s;
  index_.error = base::Error(Code::Busy, "busy");
  announce();
  world_.run_for(500ms);
  remove(ids[1]);
  index_.error.reset();
  EXPECT_TRUE(within(1min, [&] { return is_announced(ids[0]) && index_.kept.contains(ids[1]); }));
  world_.run_for(10s);
  EXPECT_FALSE(is_announced(ids[1]));
}

TEST_F(AnnouncerTest, IsPaced) {
  settings_.rps = 100;
  begin();
  const auto ids = put_many(600);
  announce();
  world_.run_for(2s);
  EXPECT_LE(index_.kept.size(), 256U + 200U);
  EXPECT_TRUE(within(3s, [&] { return all_announced(ids); }));
  settings_.rps = 100'000;
  announcer_->apply(settings_);
  const auto more = put_many(2000, "more ");
  EXPECT_TRUE(within(1s, [&] { return all_announced(more); }));
}

TEST_F(AnnouncerTest, ListsAgainAfterItMissedSomething) {
  begin({"storage.channels.events=2"});
  announce();
  world_.run_for(1s);
  run_.reset();  // stored while nobody listens
  const auto unheard = put_many(1, "unheard ");
  announce();
  ASSERT_TRUE(within(1s, [&] { return all_announced(unheard); }));
  index_.kept.clear();
  for (int i = 0; i < 9; ++i) {
    core_->events().send({StorageEvent::Kind::Released, unheard[0], 1});
  }
  EXPECT_TRUE(within(1s, [&] { return all_announced(unheard); }));
}

TEST_F(AnnouncerTest, RenewsAtHalfOfTheTimeThatRecordsHold) {
  begin();
  const auto ids = put_many(300);
  announce();
  world_.run_for(1min);
  const std::uint64_t first = index_.kept.at(ids[0]).seq;
  world_.run_for(12h - 2min);
  EXPECT_EQ(index_.kept.at(ids[0]).seq, first);
  world_.run_for(3min);
  EXPECT_GT(index_.kept.at(ids[0]).seq, first);
  world_.run_for(7 * 24h);
  EXPECT_TRUE(all_announced(ids));
}

TEST_F(AnnouncerTest, SaysNothingBeforeItKnowsWhereItCanBeReached) {
  settings_.url = "";
  begin();
  const auto ids = put_many(3);
  announce();
  world_.run_for(1h);
  EXPECT_EQ(index_.calls, 0U);
  settings_.url = "http://here:1";
  announcer_->apply(settings_);
  EXPECT_TRUE(within(1s, [&] { return all_announced(ids); }));
  settings_.url = "https://there:2";
  announcer_->apply(settings_);
  EXPECT_TRUE(within(1s, [&] { return index_.kept.at(ids[2]).url == "https://there:2"; }))
      << "and again after a move";
}

TEST_F(AnnouncerTest, RecordsGetNewerAlsoWhenTheClockIsSetBack) {
  begin();
  const auto ids = put_many(1);
  announce();
  ASSERT_TRUE(within(1s, [&] { return all_announced(ids); }));
  const std::uint64_t before = index_.kept.at(ids[0]).seq;
  node_.clock().set_wall_skew(-1h);
  remove(ids[0]);
  EXPECT_TRUE(within(1s, [&] { return index_.kept.at(ids[0]).seq > before; }));
}

TEST_F(AnnouncerTest, OlderRecordsThanTheIndexHasAreCounted) {
  begin();
  const auto ids = put_many(1);
  announce();
  ASSERT_TRUE(within(1s, [&] { return all_announced(ids); }));
  index_.kept.at(ids[0]).seq += 1'000'000'000;
  run_.reset();
  announce();
  world_.run_for(1s);
  EXPECT_EQ(counted("storage_announce_stale_total"), 1U);
}

TEST_F(AnnouncerTest, AStopSaysWhatIsLeft) {
  begin();
  announce();
  world_.run_for(1s);
  const auto ids = put_many(1);
  stop_.trigger(runtime::StopReason::Signal);
  EXPECT_TRUE(within(1s, [&] { return run_->done(); }));
  EXPECT_TRUE(all_announced(ids));
}

TEST_F(AnnouncerTest, AStopDoesNotWaitForAnIndexThatHangs) {
  begin();
  put_many(1);
  index_.takes = 1h;
  announce();
  world_.run_for(1s);
  put_many(1, "another ");
  stop_.trigger(runtime::StopReason::Signal);
  EXPECT_TRUE(within(Announcer::kLastCalls + 1ms, [&] { return run_->done(); }));
}

TEST_F(AnnouncerTest, AStopEndsABackoff) {
  begin();
  put_many(1);
  index_.error = base::Error(Code::UpstreamFail, "nobody there");
  announce();
  world_.run_for(10min);
  stop_.trigger(runtime::StopReason::Signal);
  EXPECT_TRUE(within(1ms, [&] { return run_->done(); }));
}

}  // namespace
}  // namespace ron::storage
