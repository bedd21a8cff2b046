// What a version costs in the tree, and what a proof from memory does.
#include <benchmark/benchmark.h>

#include "chain/test_tree.h"
#include "chain/tlog_tree.h"

namespace ron::chain {
namespace {

void append_entry(benchmark::State& state) {
  const std::vector<std::byte> entry(static_cast<std::size_t>(state.range(0)), std::byte{1});
  TreeFrontier frontier;
  for (auto _ : state) frontier.append(leaf_hash(entry));
}

void root(benchmark::State& state) {
  TreeFrontier frontier;
  for (const TreeHash& leaf : testing::numbered_leaves(99'999)) frontier.append(leaf);
  for (auto _ : state) benchmark::DoNotOptimize(frontier.root());
}

void prove_inclusion(benchmark::State& state) {
  testing::MapReader reader(testing::numbered_leaves(99'999));
  std::uint64_t index = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(testing::wait_for(inclusion_proof(&reader, index, 99'999)));
    index = (index + 7919) % 99'999;
  }
}

BENCHMARK(append_entry)->Arg(300);
BENCHMARK(root);
BENCHMARK(prove_inclusion);

}  // namespace
}  // namespace ron::chain

BENCHMARK_MAIN();
