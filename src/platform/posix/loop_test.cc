#include "platform/posix/loop.h"

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "platform/test_support.h"

namespace ron::platform::posix {
namespace {

using namespace std::chrono_literals;
using test::Root;

struct Call : Job {
  explicit Call(std::function<void()> what) : Job(&Call::go), call(std::move(what)) {}
  static void go(Job& job) noexcept { static_cast<Call&>(job).call(); }
  std::function<void()> call;
};

TEST(Loop, RunsLocalJobsInOrder) {
  Loop loop;
  std::string order;
  Call a([&] { order += 'a'; });
  Call b([&] {
    order += 'b';
    loop.stop();
  });
  Call first([&] {
    loop.post(a);
    loop.post(b);
    loop.post(a);
  });
  loop.post(first);
  loop.run();
  EXPECT_EQ(order, "ab");
}

TEST(Loop, UnpostTakesAJobBackFromEitherQueue) {
  Loop loop;
  int ran = 0;
  Call local([&] { ++ran; });
  Call foreign([&] { ++ran; });
  Call first([&] {
    loop.post(local);
    EXPECT_TRUE(loop.unpost(local));
    EXPECT_FALSE(loop.unpost(local));
    std::thread([&] { loop.post(foreign); }).join();
    EXPECT_TRUE(loop.unpost(foreign));
    EXPECT_FALSE(loop.unpost(foreign));
    loop.stop();
  });
  loop.post(first);
  loop.run();
  EXPECT_EQ(ran, 0);
}

struct Descriptors : IoSource {
  explicit Descriptors(std::function<void()> what)
      : IoSource(&Descriptors::go), call(std::move(what)) {}
  static void go(IoSource& source, std::uint32_t) noexcept {
    static_cast<Descriptors&>(source).call();
  }
  std::function<void()> call;
};

// A job that is never done goes on and on; a socket that has become ready does not wait for it.
TEST(Loop, ADeferredJobLetsSocketsAndTimersGoFirst) {
  Loop loop;
  const int event = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
  int turns = 0;
  int turns_before_socket = -1;
  int turns_before_timer = -1;
  Descriptors socket([&] { turns_before_socket = turns; });
  Call busy([&] {
    if (turns == 0) EXPECT_EQ(loop.add(event, socket), 0);
    if (++turns == 1000) return loop.stop();
    loop.defer(busy);
  });
  const Root timer(loop, test::pause(0ms), [&] { turns_before_timer = turns; });
  loop.post(busy);
  loop.run();
  close(event);
  EXPECT_EQ(turns_before_socket, 1);
  EXPECT_LE(turns_before_timer, 2);
}

// Also when the job was deferred before the socket became ready.
TEST(Loop, ASocketThatBecomesReadyGoesBeforeWhatWasDeferred) {
  Loop loop;
  const int event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  std::string order;
  Call reader([&] { order += 'r'; });
  Descriptors readable([&] { loop.post(reader); });
  Call deferred([&] {
    order += 'd';
    loop.stop();
  });
  Call first([&] {
    EXPECT_EQ(loop.add(event, readable), 0);
    loop.defer(deferred);
    const std::uint64_t one = 1;
    EXPECT_EQ(write(event, &one, sizeof one), static_cast<ssize_t>(sizeof one));
  });
  loop.post(first);
  loop.run();
  close(event);
  EXPECT_EQ(order, "rd");
}

// Jobs of one turn share it; it begins anew when the sockets were looked at.
TEST(Loop, ATurnLastsFromOneLookAtTheSocketsToTheNext) {
  Loop loop;
  std::vector<bool> over;
  Call last([&] {
    over.push_back(loop.turn_is_over());
    loop.stop();
  });
  Call second([&] {
    over.push_back(loop.turn_is_over());
    loop.defer(last);
  });
  Call first([&] {
    over.push_back(loop.turn_is_over());
    loop.spend(Executor::kTurnBytes);
    loop.post(second);
  });
  loop.post(first);
  loop.run();
  EXPECT_EQ(over, (std::vector<bool>{false, true, false}));
}

TEST(Loop, ADeferredJobCanBeTakenBack) {
  Loop loop;
  int ran = 0;
  Call deferred([&] { ++ran; });
  Call other([&] { ++ran; });
  Call last([&] { loop.stop(); });
  Call first([&] {
    loop.defer(deferred);
    loop.defer(other);
    EXPECT_TRUE(loop.unpost(deferred));
    EXPECT_FALSE(loop.unpost(deferred));
    loop.defer(last);
  });
  loop.post(first);
  loop.run();
  EXPECT_EQ(ran, 1);
}

// Each poster writes its number before it posts; the job must see it, however the posts fall
// together with the runs.
TEST(Loop, ManyThreadsMayPostTheSameJob) {
  constexpr int kThreads = 4;
  constexpr int kPosts = 20'000;
  Loop loop;
  std::array<std::atomic<int>, kThreads> written{};
  std::atomic<int> done = 0;
  Call job([&] {
    bool all = true;
    for (const auto& value : written) all = all && value.load(std::memory_order_relaxed) == kPosts;
    if (all && done.load() == kThreads) loop.stop();
  });
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      for (int n = 1; n <= kPosts; ++n) {
        if (n == kPosts) ++done;
        written[i].store(n, std::memory_order_relaxed);
        loop.post(job);
      }
    });
  }
  loop.run();
  EXPECT_EQ(done, kThreads);
}

// Two loops toss one job's token to and fro: every post wakes a sleeping loop.
struct Toss : Job {
  Toss(Loop& to, Toss*& answer, int& number)
      : Job(&Toss::go), home(to), other(answer), left(number) {}
  static void go(Job& job) noexcept {
    auto& self = static_cast<Toss&>(job);
    if (--self.left <= 0) {
      self.other->home.stop();
      self.home.stop();
      return;
    }
    self.other->home.post(*self.other);
  }
  Loop& home;
  Toss*& other;
  int& left;
};

TEST(Loop, CrossThreadPostsAreNeverLost) {
  Loop here;
  Loop there;
  int left = 20'000;
  Toss* ping_at = nullptr;
  Toss* pong_at = nullptr;
  Toss ping(here, pong_at, left);
  Toss pong(there, ping_at, left);
  ping_at = &ping;
  pong_at = &pong;
  here.post(ping);
  std::jthread thread([&] { there.run(); });
  here.run();
  EXPECT_EQ(left, 0);
}

TEST(Loop, TimersFireInOrderAndNotEarly) {
  Loop loop;
  std::string order;
  auto sleeper = [](std::string* log, char name, MonotonicClock::duration delay) -> Task<void> {
    const TimePoint begin = Executor::current()->now();
    co_await test::pause(delay);
    EXPECT_GE(Executor::current()->now() - begin, delay);
    log->push_back(name);
  };
  const Root slow(loop, sleeper(&order, 's', 20ms), [&] { loop.stop(); });
  const Root fast(loop, sleeper(&order, 'f', 5ms));
  loop.run();
  EXPECT_EQ(order, "fs");
}

TEST(Loop, IsCurrentOnlyWhileItRuns) {
  Loop loop;
  Executor* seen = nullptr;
  Call job([&] {
    seen = Executor::current();
    loop.stop();
  });
  loop.post(job);
  loop.run();
  EXPECT_EQ(seen, &loop);
  EXPECT_EQ(Executor::current(), nullptr);
}

}  // namespace
}  // namespace ron::platform::posix
