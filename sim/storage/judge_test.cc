#include "sim/storage/judge.h"

#include <chrono>

#include <gtest/gtest.h>

#include "sim/harness/server_node.h"

namespace ron::sim {
namespace {

using namespace std::chrono_literals;
using Result = History::Result;

// A life with known settings, one payload and one answer to it.
struct JudgeTest : testing::Test {
  Life life;
  Payload payload = make_payload("some bytes");
  Request request;
  Answer answer;
  Exchange exchange;

  JudgeTest() {
    Era era;
    era.config = load_config({"storage.limits.max_body_bytes=1KiB", "storage.read_timeout=100ms",
                              "storage.server.request_deadline=1s", "storage.cache_bytes=1MiB"})
                     ->get(storage::storage_section());
    life.eras.push_back(era);
    life.opened = {};
    request.corr_id = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
    request.token = TokenKind::Admin;
    exchange.ended = TimePoint(10ms);
  }

  Judgement judge_get(std::string body) {
    request.kind = Kind::Get;
    answer.status = 200;
    answer.fields = {{"x-corr-id", request.corr_id}, {"etag", "\"" + payload.address + "\""}};
    answer.body = std::move(body);
    return judged();
  }
  Judgement judge_refusal(Kind kind, int status, std::string code, bool retry = false) {
    request.kind = kind;
    answer.status = status;
    answer.fields = {{"x-corr-id", request.corr_id}};
    if (retry) answer.fields.emplace_back("retry-after", "1");
    answer.body = R"({"error":{"code":")" + code + R"(","corr_id":")" + request.corr_id + R"("}})";
    return judged();
  }
  Judgement judged() {
    exchange.request = &request;
    exchange.payload = &payload;
    exchange.answer = &answer;
    exchange.life = &life;
    return judge(exchange);
  }
};

TEST_F(JudgeTest, AcceptsTheBytesThatWereAskedFor) {
  const Judgement judgement = judge_get("some bytes");
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
  EXPECT_EQ(judge_refusal(Kind::Put, 429, "Busy").wrong, "no Retry-After");
  EXPECT_EQ(judge_refusal(Kind::Put, 429, "Busy", true).wrong, std::nullopt);
}

TEST_F(JudgeTest, ATimeoutNeedsTheTimeToHavePassed) {
  EXPECT_NE(judge_refusal(Kind::Put, 504, "Timeout", true).wrong, std::nullopt);
  exchange.ended = TimePoint(1s);
  EXPECT_EQ(judge_refusal(Kind::Put, 504, "Timeout", true).wrong, std::nullopt);
}

TEST_F(JudgeTest, ARateThatWasRaisedDoesNotForgetWhoCameBefore) {
  life.eras[0].until = TimePoint(1ms);
  life.eras.push_back(life.eras[0]);
  auto lower = std::make_shared<storage::StorageConfig>(*life.eras[0].config);
  lower->server.max_rps = 20;
  life.eras[0].config = std::move(lower);
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
  const std::uint64_t capacity = life.eras[0].config->cache_bytes.bytes;
  const std::vector<Payload> payloads = {make_payload(std::string(capacity / 8, 'a')),
                                         make_payload(std::string(capacity / 8 * 5, 'b'))};
  const TimePoint now = exchange.ended;
  History history;
  const auto refused = [&] {
    exchange.most_bytes = most_bytes(payloads, history, 1, now);
    return judge_refusal(Kind::Put, 503, "Amnesia", true).wrong;
  };
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
  request.token = TokenKind::Expired;
  answer.status = 201;
  EXPECT_EQ(judged().wrong, "stored without a capability");
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
