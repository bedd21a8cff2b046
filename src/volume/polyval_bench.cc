// Speed of fingerprints in each way, beside the hash they stand in for (bytes_per_second).
#include <benchmark/benchmark.h>

#include "b3/hash.h"
#include "b3/sample_bytes.h"
#include "volume/polyval.h"

namespace ron::volume {
namespace {

void count_bytes(benchmark::State& state, std::size_t bytes) {
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) *
                          static_cast<std::int64_t>(bytes));
}

void hash(benchmark::State& state) {
  const auto bytes = b3::samples::noise(static_cast<std::size_t>(state.range(0)), 1);
  for (auto _ : state) benchmark::DoNotOptimize(b3::hash(bytes));
  count_bytes(state, bytes.size());
}

void fingerprint(benchmark::State& state) {
  const auto bytes = b3::samples::noise(static_cast<std::size_t>(state.range(0)), 1);
  const Polyval polyval({std::byte{7}}, static_cast<Polyval::Way>(state.range(1)));
  for (auto _ : state) benchmark::DoNotOptimize(polyval.update({}, bytes));
  count_bytes(state, bytes.size());
}

constexpr std::int64_t kKiB = 1024;

BENCHMARK(hash)->Arg(16 * kKiB)->Arg(64 * kKiB);
BENCHMARK(fingerprint)->ArgsProduct({{16 * kKiB, 64 * kKiB}, {0, 1, 2}});

}  // namespace
}  // namespace ron::volume

BENCHMARK_MAIN();
