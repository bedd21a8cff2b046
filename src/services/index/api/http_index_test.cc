#include "services/index/api/http_index.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "b3/hash.h"
#include "http/test_support.h"

namespace ron::index_api {
namespace {

using namespace http::test;
using base::Code;
using base::Result;
using catalog::ProviderRecord;
using http::Method;
using http::Request;
using http::Response;

// An index on another machine: takes records, or says what it is told to.
class HttpIndexTest : public ServerTest {
 protected:
  void SetUp() override {
    make();
    server_->add(Method::Put, "/providers/{addr}",
                 [this](Request* request) { return take(this, request); });
    server_->get("/names/{name...}", [this](Request* request) { return say_name(this, request); });
    start();
    reach("");
  }
  void reach(const std::string& token) {
    index_.reset();
    index_.emplace(HttpIndexParts{peer_.host(),
                                  *http::UpstreamAddress::parse("http://" + endpoint_.text()),
                                  token, nullptr, &meters_});
  }
  [[nodiscard]] std::vector<ProviderRecord> records(int count) const {
    std::array<std::byte, auth::SigningKey::kSeedBytes> seed{};
    const auth::SigningKey key = *auth::SigningKey::from_seed(seed);
    std::vector<ProviderRecord> made;
    for (int i = 0; i < count; ++i) {
      ProviderRecord record;
      record.addr = b3::hash(base::as_bytes(std::to_string(i)));
      record.url = "http://node:8080";
      record.expires_ms = expires_ms_;
      made.push_back(*catalog::sign(std::move(record), key));
    }
    return made;
  }
  Result<std::size_t> announce(int count) {
    std::optional<Result<std::size_t>> said;
    const Root root(peer_.core(), announce_into(this, count, &said));
    EXPECT_EQ(world_.run_until([&] { return said.has_value(); }, 1min), sim::Outcome::Done);
    return *said;
  }
  Result<NamedTarget> look_up(const std::string& name) {
    std::optional<Result<NamedTarget>> said;
    const Root root(peer_.core(), look_up_into(this, name, &said));
    EXPECT_EQ(world_.run_until([&] { return said.has_value(); }, 1min), sim::Outcome::Done);
    return *said;
  }

  static Task<void> announce_into(HttpIndexTest* self, int count,
                                  std::optional<Result<std::size_t>>* out) {
    auto said = co_await self->index_->announce(self->records(count), runtime::Deadline::in(10s));
    out->emplace(std::move(said));
  }
  static Task<void> look_up_into(HttpIndexTest* self, std::string name,
                                 std::optional<Result<NamedTarget>>* out) {
    auto said =
        co_await self->index_->look_up(*catalog::parse_name_ref(name), runtime::Deadline::in(10s));
    out->emplace(std::move(said));
  }
  static Task<Response> take(HttpIndexTest* self, Request* request) {
    self->most_ = std::max(self->most_, ++self->now_);
    const auto body = co_await request->body->read_all();
    co_await runtime::sleep_for(self->takes_);
    --self->now_;
    self->authorization_ = request->head->find("Authorization").value_or("");
    if (self->refusal_) co_return Response::error(*self->refusal_, request->corr_id);
    EXPECT_EQ(request->head->find("Content-Type").value_or(""), "application/cbor");
    const auto record = catalog::decode_provider_record(body->view());
    EXPECT_TRUE(record && catalog::has_valid_signature(*record));
    EXPECT_EQ(request->params[0], record->addr.text());
    const bool is_new = self->kept_.emplace(record->addr, *record).second;
    if (is_new) co_return Response::json(200, "{}");
    co_return Response::error({Code::VersionSkew, "a newer one is known"}, request->corr_id);
  }
  static Task<Response> say_name(HttpIndexTest* self, Request* request) {
    self->asked_ = request->params[0];
    if (self->refusal_) co_return Response::error(*self->refusal_, request->corr_id);
    co_return Response::json(200, self->name_);
  }

  runtime::Meters meters_{"svc-storage"};
  std::optional<HttpIndex> index_;
  std::optional<base::Error> refusal_;
  base::Duration takes_ = 1ms;
  std::map<base::ObjectId, ProviderRecord> kept_;
  std::string authorization_;
  std::string name_;
  std::string asked_;
  std::uint64_t expires_ms_ = 0;
  std::size_t now_ = 0;
  std::size_t most_ = 0;
};

TEST_F(HttpIndexTest, EachRecordIsARequestAndSomeAreUnderWayAtOnce) {
  EXPECT_EQ(announce(100), 100U);
  EXPECT_EQ(kept_.size(), 100U);
  EXPECT_GT(most_, 1U);
  EXPECT_LE(most_, HttpIndex::kLanes);
  EXPECT_EQ(authorization_, "");
  EXPECT_EQ(announce(101), 1U) << "the others are no news";
}

TEST_F(HttpIndexTest, ShowsItsToken) {
  reach("secret");
  ASSERT_TRUE(announce(1));
  EXPECT_EQ(authorization_, "Bearer secret");
}

TEST_F(HttpIndexTest, ARefusalIsTheErrorItNamesAndEndsTheBatch) {
  refusal_ = base::Error(Code::Busy, "come back later");
  const auto said = announce(100);
  ASSERT_FALSE(said);
  EXPECT_EQ(said.error().code, Code::Busy);
  refusal_.reset();
  EXPECT_EQ(announce(100), 100U);
}

TEST_F(HttpIndexTest, AWithdrawalOfWhatTheIndexDoesNotHaveIsDone) {
  refusal_ = base::Error(Code::Malformed, "the record has expired");
  EXPECT_EQ(announce(3), 0U) << "the records of this test have expired long ago";
  expires_ms_ = UINT64_MAX;
  EXPECT_EQ(announce(3).error().code, Code::Malformed);
}

TEST_F(HttpIndexTest, AnIndexThatHangsIsATimeout) {
  takes_ = 20s;
  const auto said = announce(3);
  ASSERT_FALSE(said);
  EXPECT_EQ(said.error().code, Code::Timeout);
}

TEST_F(HttpIndexTest, AnIndexThatIsAwayIsAnError) {
  server_->abort();
  const auto said = announce(3);
  ASSERT_FALSE(said);
}

TEST_F(HttpIndexTest, LooksNamesUp) {
  const std::string target = b3::hash({}).text();
  name_ = R"({"name":"docs/ü","target":")" + target + R"(","version":7,"type":"text/html"})";
  const auto found = look_up("docs/ü@7");
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(*found, (NamedTarget{b3::hash({}), 7, "text/html"}));
  EXPECT_EQ(asked_, "docs/ü@7");
  name_ = "[1,2";
  EXPECT_EQ(look_up("docs").error().code, Code::UpstreamFail);
  refusal_ = base::Error(Code::NotFound, "no such name");
  EXPECT_EQ(look_up("docs").error().code, Code::NotFound);
}

}  // namespace
}  // namespace ron::index_api
