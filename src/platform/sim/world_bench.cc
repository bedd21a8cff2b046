// Scheduler steps per second, bare and with the network in play.
#include <benchmark/benchmark.h>

#include "platform/sim/world.h"
#include "platform/test_support.h"

namespace ron::platform::sim {
namespace {

using namespace std::chrono_literals;
using test::Root;

Task<void> tick() {
  for (;;) co_await test::pause(1ms);
}

void timers(benchmark::State& state) {
  World world(1, {.steps = UINT64_MAX});
  Node& node = world.add_node({.cores = 4});
  std::vector<std::unique_ptr<Root>> roots;
  for (std::size_t i = 0; i < 64; ++i) {
    roots.push_back(std::make_unique<Root>(node.core(i % 4), tick()));
  }
  for (auto _ : state) world.run_for(10ms);
  state.counters["steps/s"] =
      benchmark::Counter(static_cast<double>(world.steps()), benchmark::Counter::kIsRate);
}
BENCHMARK(timers);

Task<void> serve(Host host, Endpoint at) {
  auto listener = host.net.listen(at);
  std::unique_ptr<Stream> stream = co_await test::accept(listener->get());
  for (;;) {
    const test::ReadText read = co_await test::read_up_to(stream.get(), 100);
    if (read.end != IoResult::Kind::Bytes) co_return;
    co_await test::write_all(stream.get(), read.text);
  }
}

Task<void> ask(Host host, Endpoint to) {
  auto stream = host.net.connect(to);
  co_await test::established(stream->get());
  for (;;) {
    co_await test::write_all(stream->get(), std::string(100, 'q'));
    co_await test::read_up_to(stream->get(), 100);
  }
}

void echo(benchmark::State& state) {
  World world(1, {.steps = UINT64_MAX});
  Node& server = world.add_node();
  Node& client = world.add_node();
  std::vector<std::unique_ptr<Root>> roots;
  for (std::uint16_t port = 1; port <= 16; ++port) {
    roots.push_back(
        std::make_unique<Root>(server.core(), serve(server.host(), server.endpoint(port))));
  }
  world.run_for(1ms);
  for (std::uint16_t port = 1; port <= 16; ++port) {
    roots.push_back(
        std::make_unique<Root>(client.core(), ask(client.host(), server.endpoint(port))));
  }
  for (auto _ : state) world.run_for(10ms);
  state.counters["steps/s"] =
      benchmark::Counter(static_cast<double>(world.steps()), benchmark::Counter::kIsRate);
}
BENCHMARK(echo);

}  // namespace
}  // namespace ron::platform::sim

BENCHMARK_MAIN();
