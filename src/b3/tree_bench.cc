// Speed of the tree against upstream's one-shot hashing of the same bytes (bytes_per_second).
#include <vector>

#include <benchmark/benchmark.h>

#include "b3/hash.h"
#include "b3/sample_bytes.h"
#include "b3/tree.h"

namespace ron::b3 {
namespace {

void count_bytes(benchmark::State& state, std::size_t bytes) {
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) *
                          static_cast<std::int64_t>(bytes));
}

void hash_one_shot(benchmark::State& state) {
  const auto bytes = samples::noise(static_cast<std::size_t>(state.range(0)), 1);
  for (auto _ : state) benchmark::DoNotOptimize(hash(bytes));
  count_bytes(state, bytes.size());
}

void subtree_value(benchmark::State& state) {
  const auto bytes = samples::noise(static_cast<std::size_t>(state.range(0)), 1);
  for (auto _ : state) benchmark::DoNotOptimize(subtree(bytes, 1 << 20));
  count_bytes(state, bytes.size());
}

void values_of_groups(benchmark::State& state) {
  const auto bytes = samples::noise(static_cast<std::size_t>(state.range(0)), 1);
  std::vector<ChainingValue> groups(group_count(bytes.size()));
  for (auto _ : state) {
    group_values(bytes, 16, groups);
    benchmark::DoNotOptimize(groups.data());
  }
  count_bytes(state, bytes.size());
}

constexpr std::int64_t kKiB = 1024;
constexpr std::int64_t kMiB = 1024 * kKiB;

BENCHMARK(hash_one_shot)->Arg(1 * kKiB)->Arg(64 * kKiB)->Arg(1 * kMiB)->Arg(16 * kMiB);
BENCHMARK(subtree_value)->Arg(1 * kKiB)->Arg(64 * kKiB)->Arg(1 * kMiB);
BENCHMARK(values_of_groups)->Arg(1 * kMiB);

}  // namespace
}  // namespace ron::b3

BENCHMARK_MAIN();
