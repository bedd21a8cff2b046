#include "cli/pacer.h"

#include <queue>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/token_bucket.h"

namespace ron::cli {
namespace {

using platform::TimePoint;
using namespace std::chrono_literals;

constexpr std::uint64_t kRate = 500;
constexpr base::Duration kRoundTrip = 1ms;
constexpr base::Duration kRetryAfter = 1s;

struct Outcome {
  base::Duration took{};
  std::uint64_t answered = 0;
  std::uint64_t refused = 0;
};

// Clients with some requests in flight each, all of which are sent again until they are answered,
// and a server with the rate limit of http/ingress.cc.
Outcome simulate(std::size_t clients, std::size_t jobs, std::uint64_t requests_each, bool paced) {
  struct Ready {
    TimePoint at;
    std::size_t client;
    bool operator<(const Ready& other) const { return at > other.at; }
  };
  const TimePoint start{1h};
  runtime::TokenBucket bucket(kRate, kRate);
  std::vector<Pacer> pacers(clients);
  std::vector<std::uint64_t> left(clients, requests_each);
  // A request moves through two queues: waiting to be given a turn, and on its way.
  std::priority_queue<Ready> waiting;
  std::priority_queue<Ready> sent;
  Outcome outcome;
  TimePoint now = start;
  for (std::size_t client = 0; client < clients; ++client) {
    for (std::size_t job = 0; job < jobs; ++job) waiting.push({start, client});
  }
  while (!waiting.empty() || !sent.empty()) {
    if (sent.empty() || (!waiting.empty() && waiting.top().at <= sent.top().at)) {
      const Ready next = waiting.top();
      waiting.pop();
      now = next.at;
      if (left[next.client] == 0) continue;
      --left[next.client];
      sent.push({paced ? pacers[next.client].next(now) : now, next.client});
      continue;
    }
    const Ready request = sent.top();
    sent.pop();
    now = request.at + kRoundTrip;
    if (bucket.try_take(request.at)) {
      ++outcome.answered;
      outcome.took = now - start;
      waiting.push({now, request.client});
      continue;
    }
    ++outcome.refused;
    ++left[request.client];
    pacers[request.client].refused(now, request.at, kRate, kRetryAfter);
    waiting.push({now + kRetryAfter, request.client});
  }
  return outcome;
}

// What no client can beat: a full bucket at the beginning, then the rate.
double fastest_seconds(std::uint64_t requests) {
  return static_cast<double>(requests - kRate) / static_cast<double>(kRate);
}

TEST(Pacer, NothingIsHeldBackUntilARefusal) {
  Pacer pacer;
  const TimePoint now{5s};
  for (int i = 0; i < 10000; ++i) EXPECT_EQ(pacer.next(now), now);
}

TEST(Pacer, ALoneClientUsesTheWholeRateAndIsRefusedOnce) {
  constexpr std::size_t kJobs = 16;
  const Outcome outcome = simulate(1, kJobs, 5000, true);
  EXPECT_EQ(outcome.answered, 5000U);
  EXPECT_LE(outcome.refused, kJobs);
  EXPECT_LT(std::chrono::duration<double>(outcome.took).count(), fastest_seconds(5000) * 1.03);
}

TEST(Pacer, SeveralClientsShareTheRateWithFewRefusals) {
  constexpr std::uint64_t kEach = 5000;
  const Outcome paced = simulate(4, 16, kEach, true);
  const Outcome unpaced = simulate(4, 16, kEach, false);
  EXPECT_EQ(paced.answered, 4 * kEach);
  EXPECT_LT(paced.refused * 20, paced.answered) << paced.refused;
  EXPECT_LT(paced.refused * 2, unpaced.refused);
  EXPECT_LT(std::chrono::duration<double>(paced.took).count(), fastest_seconds(4 * kEach) * 1.1);
}

TEST(Pacer, WithoutARateAllRequestsWaitAsLongAsTheServerAsks) {
  Pacer pacer;
  const TimePoint now{5s};
  pacer.refused(now, now, 0, 2s);
  EXPECT_EQ(pacer.next(now), now + 2s);
  EXPECT_EQ(pacer.next(now + 3s), now + 3s);
}

TEST(Pacer, ManyRefusalsOfOneMomentAreOneLesson) {
  Pacer once;
  Pacer often;
  const TimePoint sent{5s};
  const TimePoint now = sent + 1ms;
  once.refused(now, sent, kRate, 1s);
  for (int i = 0; i < 16; ++i) often.refused(now, sent, kRate, 1s);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(once.next(now), often.next(now));
}

}  // namespace
}  // namespace ron::cli
