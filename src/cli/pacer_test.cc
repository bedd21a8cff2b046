#include "cli/pacer.h"

#include <queue>
#include <vector>

#include <gtest/gtest.h>

#include "platform/random.h"
#include "runtime/token_bucket.h"

namespace ron::cli {
namespace {

using platform::TimePoint;
using namespace std::chrono_literals;

constexpr std::uint64_t kRate = 500;
constexpr base::Duration kRetryAfter = 1s;

struct Outcome {
  base::Duration took{};
  std::uint64_t answered = 0;
  std::uint64_t refused = 0;
};

// Clients with some requests in flight each, all of which are sent again until they are answered,
// over lines with jitter, and a server with the rate limit of http/ingress.cc.
class Simulation {
 public:
  Simulation(std::uint64_t seed, bool paced) : random_(seed), paced_(paced) {}

  Outcome run(std::size_t clients, std::size_t jobs, std::uint64_t requests_each) {
    pacers_.resize(clients);
    left_.assign(clients, requests_each);
    for (std::size_t client = 0; client < clients; ++client) {
      for (std::size_t job = 0; job < jobs; ++job) events_.push({kStart, Step::Ask, client, {}});
    }
    while (!events_.empty()) {
      const Event event = events_.top();
      events_.pop();
      step(event);
    }
    return outcome_;
  }

 private:
  static constexpr TimePoint kStart{1h};
  enum class Step : std::uint8_t { Ask, Arrive, Answered, Refused };
  struct Event {
    TimePoint at;
    Step step;
    std::size_t client;
    TimePoint sent;
    bool operator<(const Event& other) const { return at > other.at; }
  };

  base::Duration jitter() { return 100us + base::Duration(random_.below(20'000'000)); }

  void step(const Event& event) {
    Pacer& pacer = pacers_[event.client];
    switch (event.step) {
      case Step::Ask: {
        if (left_[event.client] == 0) return;
        --left_[event.client];
        const TimePoint sent = paced_ ? pacer.next(event.at) : event.at;
        events_.push({sent + jitter(), Step::Arrive, event.client, sent});
        return;
      }
      case Step::Arrive: {
        const Step next = bucket_.try_take(event.at) ? Step::Answered : Step::Refused;
        events_.push({event.at + jitter(), next, event.client, event.sent});
        return;
      }
      case Step::Answered:
        pacer.answered();
        ++outcome_.answered;
        outcome_.took = event.at - kStart;
        events_.push({event.at, Step::Ask, event.client, {}});
        return;
      case Step::Refused:
        pacer.answered();
        pacer.refused(event.at, event.sent, kRate, kRetryAfter);
        ++outcome_.refused;
        ++left_[event.client];
        events_.push({event.at + kRetryAfter, Step::Ask, event.client, {}});
        return;
    }
  }

  platform::FastRandom random_;
  const bool paced_;
  runtime::TokenBucket bucket_{kRate, kRate};
  std::vector<Pacer> pacers_;
  std::vector<std::uint64_t> left_;
  std::priority_queue<Event> events_;
  Outcome outcome_;
};

double seconds(base::Duration duration) { return std::chrono::duration<double>(duration).count(); }
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
  constexpr std::size_t kJobs = 32;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Outcome outcome = Simulation(seed, true).run(1, kJobs, 5000);
    EXPECT_EQ(outcome.answered, 5000U);
    EXPECT_LE(outcome.refused, kJobs) << seed;
    EXPECT_LT(seconds(outcome.took), fastest_seconds(5000) * 1.03) << seed;
  }
}

TEST(Pacer, SeveralClientsShareTheRateWithFewRefusals) {
  constexpr std::uint64_t kEach = 5000;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const Outcome paced = Simulation(seed, true).run(4, 32, kEach);
    const Outcome unpaced = Simulation(seed, false).run(4, 32, kEach);
    EXPECT_EQ(paced.answered, 4 * kEach);
    EXPECT_LT(paced.refused * 10, paced.answered) << seed;
    EXPECT_LT(paced.refused * 2, unpaced.refused) << seed;
    EXPECT_LT(seconds(paced.took), fastest_seconds(4 * kEach) * 1.1) << seed;
  }
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
