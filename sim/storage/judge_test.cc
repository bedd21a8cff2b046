#include "sim/storage/judge.h"

#include <chrono>

#include <gtest/gtest.h>

#include "config/load.h"
#include "services/storage/config.h"

namespace ron::sim {
namespace {

using namespace std::chrono_literals;
using Result = History::Result;

Era era_of(std::vector<std::string> flags) {
  static const config::Schema schema = [] {
    config::Schema made;
    made.add(storage::storage_section());
    return made;
  }();
  config::Inputs inputs;
  inputs.flags = std::move(flags);
  Era era;
  era.config = config::load(schema, inputs).value();
  era.settings = era.config->get(storage::storage_section());
  return era;
}

// What a test looks at.
struct Judged {
  std::string outcome;
  Wrong wrong;
  Result result;
};

// A life with known settings, one payload and one answer to it.
struct JudgeTest : testing::Test {
  platform::sim::World world{1};
  Life life;
  std::vector<Payload> payloads = {make_payload("some bytes")};
  History history;
  Refusals refusals{world};
  ObjectRequest request;
  Answer answer;
  Exchange exchange;

  JudgeTest() {
    life.eras.push_back(era_of({"storage.limits.max_body_bytes=1KiB", "storage.read_timeout=100ms",
                                "storage.server.request_deadline=1s", "storage.cache_bytes=1MiB"}));
    life.opened = {};
    request.corr_id = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
    request.token = TokenKind::Admin;
    exchange.ended = TimePoint(10ms);
  }

  const Payload& payload() const { return payloads[0]; }
  Judged judge_get(std::string body) {
    request.kind = Kind::Get;
    answer.status = 200;
    answer.fields = {{"x-corr-id", request.corr_id}, {"etag", "\"" + payload().address + "\""}};
    answer.body = std::move(body);
    return judged();
  }
  Judged judge_refusal(Kind kind, int status, std::string code, bool retry = false,
                       std::string details = "") {
    request.kind = kind;
    answer.status = status;
    answer.fields = {{"x-corr-id", request.corr_id}};
    if (retry) answer.fields.emplace_back("retry-after", "1");
    answer.body = R"({"error":{"code":")" + code + R"(","corr_id":")" + request.corr_id +
                  R"(","details":{)" + details + "}}}";
    return judged();
  }
  Judged judged() {
    request.heavy = request.kind != Kind::Ready;
    request.has_body = request.stores();
    request.asks_ready = request.kind == Kind::Ready;
    exchange.request = &request;
    exchange.answer = &answer;
    exchange.life = &life;
    exchange.life_number = 1;
    exchange.refusals = &refusals;
    const Facts facts{payloads, history, {}};
    StorageJudge judge(exchange, facts);
    Judgement judgement = judge.judge();
    return {judgement.outcome, judgement.wrong, judge.result()};
  }
};

TEST_F(JudgeTest, AcceptsTheBytesThatWereAskedFor) {
  const Judged judgement = judge_get("some bytes");
  EXPECT_EQ(judgement.wrong, std::nullopt);
  EXPECT_EQ(judgement.result, Result::Present);
}

TEST_F(JudgeTest, SeesAWrongByte) { EXPECT_EQ(judge_get("some bytez").wrong, "wrong bytes"); }

TEST_F(JudgeTest, SeesTheAnswerToAnotherRequest) {
  judge_get("some bytes");
  answer.fields[0].second = "01ARZ3NDEKTSV4RRFFQ69G5FAX";
  EXPECT_EQ(judged().wrong, "the answer to another request");
}

TEST_F(JudgeTest, WantsAKnownCode) {
  EXPECT_NE(judge_refusal(Kind::Get, 404, "Vanished").wrong, std::nullopt);
  EXPECT_EQ(judge_refusal(Kind::Get, 404, "NotFound").wrong, std::nullopt);
}

TEST_F(JudgeTest, WantsTheStatusOfTheCode) {
  EXPECT_EQ(judge_refusal(Kind::Get, 400, "NotFound").wrong,
            "the status does not belong to the code");
}

TEST_F(JudgeTest, WantsRetryAfterWhereARetryHelps) {
  refusals.add("max_inflight", exchange.ended);
  EXPECT_EQ(judge_refusal(Kind::Put, 429, "Busy").wrong, "no Retry-After");
  EXPECT_EQ(judge_refusal(Kind::Put, 429, "Busy", true).wrong, std::nullopt);
}

// Of what the answer names, and while the request was under way.
TEST_F(JudgeTest, BusyNeedsSomethingThatWasFull) {
  const std::string work = R"("queue":"work","capacity":"4")";
  const auto busy = [&] { return judge_refusal(Kind::Put, 429, "Busy", true, work).wrong; };
  exchange.begun = TimePoint(5ms);
  EXPECT_NE(busy(), std::nullopt);
  refusals.add("work", TimePoint(4ms));
  refusals.add("max_inflight", TimePoint(6ms));
  EXPECT_NE(busy(), std::nullopt);
  refusals.add("work", TimePoint(6ms));
  EXPECT_EQ(busy(), std::nullopt);
}

TEST_F(JudgeTest, OnlyANewConnectionIsTurnedAway) {
  refusals.add("max_conns", TimePoint(1ms));
  exchange.begun = TimePoint(2ms);
  const auto turned_away = [&] {
    judge_refusal(Kind::Put, 429, "Busy", true);
    const std::string own = request.corr_id;
    request.corr_id = "01ARZ3NDEKTSV4RRFFQ69G5FAX";
    const Wrong wrong = judged().wrong;
    request.corr_id = own;
    return wrong;
  };
  EXPECT_NE(turned_away(), std::nullopt);
  exchange.first_on_connection = true;
  EXPECT_EQ(turned_away(), std::nullopt);
  exchange.called = TimePoint(2ms);
  EXPECT_NE(turned_away(), std::nullopt);
}

TEST_F(JudgeTest, ATimeoutNeedsTheTimeToHavePassed) {
  EXPECT_NE(judge_refusal(Kind::Put, 504, "Timeout", true).wrong, std::nullopt);
  exchange.ended = TimePoint(1s);
  EXPECT_EQ(judge_refusal(Kind::Put, 504, "Timeout", true).wrong, std::nullopt);
}

TEST_F(JudgeTest, ARateThatWasRaisedDoesNotForgetWhoCameBefore) {
  life.eras[0].until = TimePoint(1ms);
  life.eras.push_back(life.eras[0]);
  auto lower = std::make_shared<kit::ServiceConfig>(*life.eras[0].settings);
  lower->server.max_rps = 20;
  life.eras[0].settings = std::move(lower);
  life.eras[1].until = kNever;
  exchange.begun = TimePoint(2ms);
  exchange.heavy_requests = 19;
  EXPECT_NE(judge_refusal(Kind::Put, 429, "RateLimited", true).wrong, std::nullopt);
  exchange.heavy_requests = 20;
  EXPECT_EQ(judge_refusal(Kind::Put, 429, "RateLimited", true).wrong, std::nullopt);
}

TEST_F(JudgeTest, ARefusalForSizeNeedsTheSize) {
  EXPECT_NE(judge_refusal(Kind::Put, 413, "BodyCap").wrong, std::nullopt);
  request.encoded_bytes = 1025;
  EXPECT_EQ(judge_refusal(Kind::Put, 413, "BodyCap").wrong, std::nullopt);
}

// Both objects fit, but not the large one twice. That they would not fit twice is no reason; that
// somebody still reads the large one after its removal is.
TEST_F(JudgeTest, MemoryIsFullOnlyOfWhatSomebodyCanHold) {
  using Act = History::Act;
  constexpr std::uint64_t kCapacity = base::kMiB;
  payloads = {make_payload(std::string(kCapacity / 8, 'a')),
              make_payload(std::string(kCapacity / 8 * 5, 'b'))};
  const TimePoint now = exchange.begun = exchange.ended;
  const auto refused = [&] { return judge_refusal(Kind::Put, 503, "Amnesia", true).wrong; };
  for (std::size_t object : {0U, 1U}) {
    history.end(history.begin(1, object, Act::Put), Result::Added, now);
  }
  EXPECT_NE(refused(), std::nullopt);
  const std::size_t reader = history.begin(1, 1, Act::Read);
  history.end(history.begin(1, 1, Act::Delete), Result::Removed, now);
  EXPECT_NE(refused(), std::nullopt);
  history.begin(1, 1, Act::Put);
  EXPECT_EQ(refused(), std::nullopt);
  history.end(reader, Result::Present, now - 1ms);
  EXPECT_NE(refused(), std::nullopt);
}

TEST_F(JudgeTest, StrangersDoNotStore) {
  judge_get("");
  request.kind = Kind::Put;
  request.right = Right::Nobody;
  answer.status = 201;
  EXPECT_EQ(judged().wrong, "stored without a capability");
}

// An upload as its client knows it: one part acknowledged, one sent.
struct UploadJudgeTest : JudgeTest {
  std::shared_ptr<UploadModel> upload = std::make_shared<UploadModel>();

  UploadJudgeTest() {
    upload->length = 3 * base::limits::kPartBytes;
    upload->arrived = {0};
    upload->tried = {0, 1};
    request.upload = upload;
  }
  Wrong judge_shown(const std::string& arrived) {
    request.kind = Kind::ShowUpload;
    answer.status = 200;
    answer.fields = {{"x-corr-id", request.corr_id}};
    answer.body = R"({"upload_id":"01","length":3145728,"arrived":)" + arrived + "}";
    return judged().wrong;
  }
};

TEST_F(UploadJudgeTest, AcknowledgedPartsAreThere) {
  EXPECT_EQ(judge_shown("[[0,0]]"), std::nullopt);
  EXPECT_EQ(judge_shown("[[0,1]]"), std::nullopt);
  EXPECT_EQ(judge_shown("[]"), "an acknowledged part is missing");
  EXPECT_EQ(judge_shown("[[0,2]]"), "a part that nobody sent");
}

TEST_F(UploadJudgeTest, IsThereUntilSomebodyMayHaveEndedIt) {
  EXPECT_NE(judge_refusal(Kind::ShowUpload, 404, "NotFound").wrong, std::nullopt);
  upload->abort_tried = true;
  EXPECT_EQ(judge_refusal(Kind::ShowUpload, 404, "NotFound").wrong, std::nullopt);
}

TEST_F(UploadJudgeTest, PartsAreMissingOnlyIfSomeAre) {
  EXPECT_EQ(judge_refusal(Kind::CommitUpload, 412, "PreconditionFailed").wrong, std::nullopt);
  upload->arrived = upload->tried = {0, 1, 2};
  EXPECT_NE(judge_refusal(Kind::CommitUpload, 412, "PreconditionFailed").wrong, std::nullopt);
}

TEST_F(JudgeTest, NobodyIsReadyAfterTheStop) {
  judge_get(R"({"ready":true})");
  request.kind = Kind::Ready;
  EXPECT_EQ(judged().wrong, std::nullopt);
  life.stop_asked = TimePoint();
  EXPECT_EQ(judged().wrong, "ready while draining");
}

}  // namespace
}  // namespace ron::sim
