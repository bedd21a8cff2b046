// Time of a group's part in a request that goes well: the choice of a member and the note of its
// success. `allocations` are calls to the allocator per request.
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>

#include "http/upstream_group.h"
#include "platform/random.h"
#include "runtime/meter.h"

namespace {
std::atomic<std::uint64_t> allocations = 0;
}  // namespace

void* operator new(std::size_t bytes) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace ron::http {
namespace {

class SeededRandom final : public platform::Random {
 public:
  void fill(base::MutableBytes out) noexcept override {
    for (auto& byte : out) byte = static_cast<std::byte>(random_.next());
  }

 private:
  platform::FastRandom random_{1};
};

struct Bench {
  explicit Bench(std::size_t size) : group("api", members(size), {}, meters, random) {}

  static std::vector<UpstreamGroup::Member> members(std::size_t size) {
    std::vector<UpstreamGroup::Member> all;
    for (std::size_t i = 0; i < size; ++i) {
      const std::string number = std::to_string(i);
      all.push_back(
          {"api." + number, UpstreamAddress::parse("http://10.0.0." + number + ":80").value()});
    }
    return all;
  }

  runtime::Meters meters{"svc-bench"};
  SeededRandom random;
  UpstreamGroup group;
};

void choose_and_complete(benchmark::State& state) {
  Bench bench(static_cast<std::size_t>(state.range(0)));
  platform::TimePoint now{std::chrono::hours(1)};
  const std::uint64_t before = allocations.load(std::memory_order_relaxed);
  for (auto _ : state) {
    now += std::chrono::microseconds(10);
    base::Result<UpstreamAttempt> attempt = bench.group.choose(now);
    attempt->answered(200, now);
    attempt->completed(now);
  }
  const std::uint64_t made = allocations.load(std::memory_order_relaxed) - before;
  state.counters["allocations"] =
      benchmark::Counter(static_cast<double>(made), benchmark::Counter::kAvgIterations);
}
BENCHMARK(choose_and_complete)->Arg(1)->Arg(2)->Arg(4)->Arg(16);

}  // namespace
}  // namespace ron::http

BENCHMARK_MAIN();
