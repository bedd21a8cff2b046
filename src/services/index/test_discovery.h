// For the tests of discovery: one index among scripted proxies, peers and servers.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/metric_names.h"
#include "services/index/discovery.h"
#include "services/index/test_targets.h"

namespace ron::index::test {

inline constexpr std::int64_t kNow = 1'750'000'000'000;
inline constexpr std::uint64_t kLater = kNow + 3'600'000;

// One way takes exactly 1 ms, so a quick answer on a new connection is there after 4.
inline sim::WorldOptions exact_world() {
  sim::WorldOptions options = http::test::exact_world();
  options.start_unix_ms = kNow;
  return options;
}

struct Sought {
  bool done = false;
  std::optional<base::Result<Found>> result;
  base::Duration took{};
};

// Declare the servers, then start().
struct DiscoveryTest : testing::Test {
  sim::World world{7, exact_world()};
  sim::Node& self = world.add_node();
  runtime::Meters meters{"svc-index"};
  runtime::Topology topology{kTestWires, meters};
  auth::SigningKey known = node_key(1);
  SearchPolicy policy;
  std::deque<ScriptedServer> servers;
  std::vector<std::string> proxies;
  std::vector<std::string> peers;
  std::vector<std::string> fixed;
  std::optional<TargetList> list;
  std::optional<BreakerTable> breakers;
  std::optional<Trust> trust;
  std::optional<Discovery> discovery;
  runtime::Shutdown shutdown;
  std::unique_ptr<Root> janitor;

  ScriptedServer& server(std::vector<std::string>& to) {
    ScriptedServer& added = servers.emplace_back(world);
    to.push_back(added.url());
    return added;
  }
  // So many proxies that have nothing.
  void add_proxies(int count) {
    for (int i = 0; i < count; ++i) server(proxies).play = dht_says({});
  }
  void start() {
    list.emplace(TargetList::parse(proxies, peers, fixed).value());
    breakers.emplace(topology, list->names(), BreakerSettings(), self.host().random);
    trust.emplace(self.host(), meters, TrustPolicy{.nodes = {known.public_key()}});
    discovery.emplace(DiscoveryParts{self.host(), &meters, &*list, &*breakers, &*trust},
                      http::ClientSettings());
    janitor = std::make_unique<Root>(
        self.core(),
        breakers->run_janitor([this](std::uint32_t target) { return discovery->probe(target); },
                              shutdown));
  }
  catalog::ProviderRecord record(std::uint64_t seq = 1) {
    return record_of(known, sought(), kLater, seq);
  }
  // Its first byte is zero: searches begin with the first target.
  static base::ObjectId sought() { return address(0); }

  Sought search(base::Duration deadline = 10s, const base::ObjectId& addr = sought()) {
    Sought out;
    const Root running(self.core(), run(this, addr, deadline, &out));
    EXPECT_EQ(world.run_until([&] { return out.done; }, 60s), sim::Outcome::Done);
    world.run_for(5ms);  // for others to see that they were left
    return out;
  }
  static Task<void> run(DiscoveryTest* test, base::ObjectId addr, base::Duration deadline,
                        Sought* out) {
    const platform::TimePoint begun = platform::Executor::current()->now();
    base::Result<Found> result =
        co_await test->discovery->discover(addr, test->policy, runtime::Deadline::in(deadline));
    out->took = platform::Executor::current()->now() - begun;
    out->result = std::move(result);
    out->done = true;
  }
  std::int64_t reading(std::string_view name, std::string_view label = {},
                       std::string_view second = {}) {
    return http::test::reading(meters, name, label, second);
  }
};

}  // namespace ron::index::test
