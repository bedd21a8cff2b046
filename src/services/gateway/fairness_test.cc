// What tenants get of a saturated upstream, in virtual time: a server that works on some requests
// at a time and queues the rest, first come first served, as real ones do.
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/test_executor.h"
#include "services/gateway/fair_queue.h"
#include "services/gateway/wires.h"

namespace ron::gateway {
namespace {

using namespace std::chrono_literals;
using platform::Task;
using platform::TimePoint;
using runtime::Running;

// How the upstream works.
struct Server {
  std::size_t parallel = 1;  // requests it works on at a time
  base::Duration service{};  // each
  base::Duration per_kib{};  // and each KiB of it
  base::Duration hop{};      // on the way there and on the way back
  bool is_regular = true;    // or exponentially distributed
};

// A tenant's clients: each asks, waits for the answer, pauses, and asks again.
struct Clients {
  std::size_t count = 1;
  base::Duration pause{};
  std::uint64_t bytes = 1024;
  bool leave = false;  // they leave before they are answered
};

// What a tenant saw.
struct Seen {
  std::vector<base::Duration> latencies;
  std::uint64_t bytes = 0;
  std::uint64_t refused = 0;

  [[nodiscard]] base::Duration percentile(double part) {
    EXPECT_GE(latencies.size(), 100U);
    const auto index = static_cast<std::size_t>(part * static_cast<double>(latencies.size() - 1));
    std::ranges::nth_element(latencies, latencies.begin() + static_cast<std::ptrdiff_t>(index));
    return latencies[index];
  }
};

class World {
 public:
  World(Server server, std::map<std::string, Clients> clients, std::size_t most_slots,
        config::CountMap quanta = {})
      : server_(server),
        tenants_({.default_quantum = 1, .quanta = std::move(quanta), .rps = 0}),
        queue_(std::in_place, topology_, tenants_, FairQueueSettings{512, 512, 1, most_slots}),
        scheduler_(std::in_place, cores_[0], queue_->schedule(stop_)),
        worker_(std::in_place, cores_[0], queue_->work(stop_)) {
    free_at_.resize(server.parallel, cores_.now());
    for (const auto& [name, how] : clients) {
      for (std::size_t i = 0; i < how.count; ++i) {
        asking_.push_back(std::make_unique<Running<void>>(cores_[0], ask(this, name, how)));
      }
    }
  }
  ~World() {
    asking_.clear();
    worker_.reset();
    scheduler_.reset();
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  // Lets `warm_up` pass, forgets what was seen until then, and returns what was seen in `time`.
  std::map<std::string, Seen> run(base::Duration warm_up, base::Duration time) {
    cores_.advance(warm_up);
    seen_.clear();
    done_ = 0;
    cores_.advance(time);
    throughput_ = static_cast<double>(done_) / std::chrono::duration<double>(time).count();
    return seen_;
  }
  [[nodiscard]] double throughput() const { return throughput_; }
  [[nodiscard]] std::size_t slots() const { return queue_->slots(0); }

 private:
  static Task<void> until(TimePoint at) {
    platform::Parker parker;
    co_await parker.park(at);
  }
  // When a request that arrives now will have been worked on.
  TimePoint work(std::uint64_t bytes) {
    const auto free = std::ranges::min_element(free_at_);
    auto took = static_cast<double>((server_.service + server_.per_kib * (bytes / 1024)).count());
    if (!server_.is_regular) {
      took *= -std::log(1.0 - static_cast<double>(random_.below(1'000'000)) / 1e6);
    }
    *free = std::max(*free, cores_.now()) + base::Duration(static_cast<std::int64_t>(took));
    return *free;
  }
  static Task<void> ask(World* world, std::string name, Clients how) {
    // They do not come all at the same moment.
    const auto spread = static_cast<std::uint64_t>((how.pause + 1ms).count());
    co_await until(world->cores_.now() + base::Duration(world->random_.below(spread)));
    for (;;) {
      const TimePoint asked = world->cores_.now();
      TurnRequest request{.tenant = world->tenants_.use(TenantId::named(name), asked),
                          .deadline = runtime::Deadline(asked + 60s)};
      auto turn = co_await world->queue_->take(std::move(request));
      if (!turn) {
        ++world->seen_[name].refused;
        co_await until(world->cores_.now() + 10ms);
        continue;
      }
      if (world->server_.hop > 0s) co_await until(world->cores_.now() + world->server_.hop);
      const TimePoint done = world->work(how.bytes);
      co_await until(done + world->server_.hop);
      turn->add_bytes(how.bytes);
      if (!how.leave) turn->served();
      *turn = Turn();
      ++world->done_;
      world->seen_[name].bytes += how.bytes;
      world->seen_[name].latencies.push_back(world->cores_.now() - asked);
      if (how.pause > 0s) co_await until(world->cores_.now() + how.pause);
    }
  }

  const Server server_;
  runtime::TestCores cores_;
  platform::FastRandom random_{7};
  runtime::Meters meters_{"svc-gateway"};
  runtime::Topology topology_{kWires, meters_};
  TenantTable tenants_;
  std::optional<FairQueue> queue_;
  runtime::Shutdown stop_;
  std::vector<TimePoint> free_at_;
  std::map<std::string, Seen> seen_;
  std::uint64_t done_ = 0;
  double throughput_ = 0;
  std::optional<Running<void>> scheduler_;
  std::optional<Running<void>> worker_;
  std::vector<std::unique_ptr<Running<void>>> asking_;
};

constexpr std::size_t kMostSlots = 256;

struct Upstream {
  const char* name;
  Server server;
};

struct SaturatedUpstream : testing::TestWithParam<Upstream> {
  const Server server = GetParam().server;
  // Four clients that take a fifth of what the upstream can do.
  const Clients polite{4, server.service * 20 / server.parallel, 1024};
  const Clients greedy{256};
  // Enough for some thousand requests.
  const base::Duration time = server.service * 20'000 / server.parallel;
};

TEST_P(SaturatedUpstream, APoliteTenantHardlyNoticesAGreedyOne) {
  World only_polite(server, {{"polite", polite}}, kMostSlots);
  const base::Duration alone = only_polite.run(time, time)["polite"].percentile(0.99);
  World only_greedy(server, {{"greedy", greedy}}, kMostSlots);
  only_greedy.run(time, time);
  World both(server, {{"greedy", greedy}, {"polite", polite}}, kMostSlots);
  auto seen = both.run(2 * time, time);
  const base::Duration beside = seen["polite"].percentile(0.99);
  std::printf("%s: p99 %.2f ms alone, %.2f ms beside a greedy tenant; %.0f of %.0f/s; %zu slots\n",
              GetParam().name, std::chrono::duration<double, std::milli>(alone).count(),
              std::chrono::duration<double, std::milli>(beside).count(), both.throughput(),
              only_greedy.throughput(), both.slots());
  EXPECT_LE(beside, 2 * alone);
  EXPECT_EQ(seen["polite"].refused, 0U);
  EXPECT_GE(both.throughput(), 0.9 * only_greedy.throughput());
}

INSTANTIATE_TEST_SUITE_P(
    Upstreams, SaturatedUpstream,
    testing::Values(Upstream{"50 us, 1 at a time", {1, 50us, 0us, 0us, true}},
                    Upstream{"50 us, 2 at a time", {2, 50us, 0us, 0us, true}},
                    Upstream{"50 us, 2 at a time, irregular", {2, 50us, 0us, 0us, false}},
                    Upstream{"50 us, 4 at a time, 100 us away", {4, 50us, 0us, 100us, true}},
                    Upstream{"10 ms, 4 at a time", {4, 10ms, 0us, 0us, true}},
                    Upstream{"10 ms, 16 at a time", {16, 10ms, 0us, 0us, true}},
                    Upstream{"10 ms, 16 at a time, irregular", {16, 10ms, 0us, 0us, false}},
                    Upstream{"10 ms, 64 at a time", {64, 10ms, 0us, 0us, true}}));

// Clients that break everything off at once end more turns the more slots there are: that is
// nothing the upstream can do.
TEST(Slots, WhatClientsBreakOffSaysNothingAboutTheUpstream) {
  const Clients leaving{.count = 64, .bytes = 1024, .leave = true};
  World world({1000, 5ms, 0us, 0us, true}, {{"one", leaving}, {"other", leaving}}, kMostSlots);
  world.run(1s, 4s);
  EXPECT_EQ(world.slots(), SlotTuner::kFirst);
}

// Eight tenants whose requests are of different sizes, 32 clients each, on an upstream whose time
// goes into bytes.
TEST(Shares, EqualQuantaGiveEqualSharesWhateverTheSizes) {
  std::map<std::string, Clients> clients;
  for (std::uint64_t size = 8; size <= 1024; size *= 2) {
    clients["of " + std::to_string(size) + " KiB"] = {32, 0us, size * 1024};
  }
  ASSERT_EQ(clients.size(), 8U);
  World world({2, 20us, 1us, 0us, true}, clients, kMostSlots);
  const auto seen = world.run(3s, 6s);
  std::vector<double> bytes;
  for (const auto& [name, what] : seen) bytes.push_back(static_cast<double>(what.bytes));
  std::printf("Jain's index of 8 tenants with requests of 8 KiB to 1 MiB: %.3f\n",
              jain_index(bytes));
  EXPECT_EQ(bytes.size(), 8U);
  EXPECT_GE(jain_index(bytes), 0.95);
}

// One small request after another beside large ones: what counts is bytes and time, not requests.
TEST(Shares, SmallRequestsAreNotPushedAsideByLargeOnes) {
  World world({2, 20us, 1us, 0us, true},
              {{"small", {32, 0us, 1024}}, {"large", {32, 0us, 1024 * 1024}}}, kMostSlots);
  auto seen = world.run(1s, 2s);
  // A request of 1 KiB takes 21 of the microseconds that are shared, one of 1 MiB 1044.
  const double small = 21 * static_cast<double>(seen["small"].latencies.size());
  const double large = 1044 * static_cast<double>(seen["large"].latencies.size());
  EXPECT_GT(small / (small + large), 0.4);
}

TEST(Shares, QuantaOfThreeToOneGiveThreeToOne) {
  for (const base::Duration service : {base::Duration(50us), base::Duration(10ms)}) {
    World world({4, service, 1us, 0us, true},
                {{"gold", {64, 0us, 16384}}, {"plain", {64, 0us, 16384}}}, kMostSlots,
                {{"gold", 3}});
    auto seen = world.run(2s, service > 1ms ? 60s : 2s);
    const double ratio =
        static_cast<double>(seen["gold"].bytes) / static_cast<double>(seen["plain"].bytes);
    std::printf("quanta 3:1 gave %.3f:1\n", ratio);
    EXPECT_NEAR(ratio, 3.0, 0.3);
  }
}

}  // namespace
}  // namespace ron::gateway
