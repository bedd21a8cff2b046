// A log on the real disk: batches of small frames appended and synced, and the start with a million
// of them, all visited or only the last. Directory: RON_BENCH_DIRECTORY, else the one for temporary
// files.
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "chain/frame_log.h"
#include "platform/posix/host.h"
#include "platform/test_support.h"

namespace ron::chain {
namespace {

constexpr std::uint64_t kFrames = 1'000'000;
constexpr std::size_t kFrameBytes = 400;
constexpr runtime::LockDecl kLock{"log", 1, "what readers of the log share"};

std::string directory(std::string_view name) {
  const char* const chosen = std::getenv("RON_BENCH_DIRECTORY");
  const std::filesystem::path parent =
      chosen != nullptr ? chosen : std::filesystem::temp_directory_path();
  return parent / ("ron-frame-log-bench-" + std::string(name));
}

// A host runs once.
struct Machine {
  void run(platform::Task<void> task) {
    struct Begin : platform::Job {
      Begin() : Job([](Job&) noexcept {}) {}
    } begin;
    const platform::test::Root root(*host.host().cores[0], std::move(task),
                                    [this] { host.stop(); });
    host.run(begin);
  }
  FrameLogOptions options(std::string_view name) {
    return {&host.host().disk, &host.host().random, &kLock, directory(name), 64 * base::kMiB, {}};
  }
  platform::posix::PosixHost host;
};

bool failed(benchmark::State& state, const base::Result<void>& result) {
  if (!result) state.SkipWithError(result.error().message.c_str());
  return !result;
}

platform::Task<void> append(FrameLog* log, benchmark::State* state) {
  const auto frames = static_cast<std::size_t>(state->range(0));
  auto opened = co_await log->open(0, [](const FrameView&) { return base::Result<void>(); });
  if (failed(*state, opened)) co_return;
  for (auto _ : *state) {
    std::vector<std::string> batch(frames, std::string(kFrameBytes, 'f'));
    auto appended = co_await log->append(std::move(batch));
    if (failed(*state, appended)) break;
  }
  state->SetItemsProcessed(static_cast<std::int64_t>(state->iterations()) * state->range(0));
}

void append_and_sync(benchmark::State& state) {
  std::filesystem::remove_all(directory("append"));
  {
    Machine machine;
    FrameLog log(machine.options("append"));
    machine.run(append(&log, &state));
  }
  std::filesystem::remove_all(directory("append"));
}
BENCHMARK(append_and_sync)->Arg(1)->Arg(16)->Arg(256)->UseRealTime();

platform::Task<void> fill(FrameLog* log) {
  auto opened = co_await log->open(kFrames, [](const FrameView&) { return base::Result<void>(); });
  if (!opened) std::abort();
  while (log->next() < kFrames) {
    std::vector<std::string> batch(4000, std::string(kFrameBytes, 'f'));
    auto appended = co_await log->append(std::move(batch));
    if (!appended) std::abort();
  }
}

platform::Task<void> open_once(FrameLog* log, std::uint64_t from, benchmark::State* state) {
  std::uint64_t visited = 0;
  auto opened = co_await log->open(from, [&](const FrameView&) {
    ++visited;
    return base::Result<void>();
  });
  if (failed(*state, opened)) co_return;
  state->counters["visited"] = static_cast<double>(visited);
}

void open_a_million(benchmark::State& state) {
  {
    Machine machine;
    FrameLog log(machine.options("open"));
    machine.run(fill(&log));
  }
  for (auto _ : state) {
    state.PauseTiming();
    std::optional<Machine> machine(std::in_place);
    std::optional<FrameLog> log(std::in_place, machine->options("open"));
    state.ResumeTiming();
    machine->run(open_once(&*log, static_cast<std::uint64_t>(state.range(0)), &state));
    state.PauseTiming();
    log.reset();
    machine.reset();
    state.ResumeTiming();
  }
}
BENCHMARK(open_a_million)
    ->ArgName("from")
    ->Arg(0)
    ->Arg(kFrames - 10'000)
    ->Arg(kFrames)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

}  // namespace

int run(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  std::filesystem::remove_all(directory("open"));
  return 0;
}

}  // namespace ron::chain

int main(int argc, char** argv) { return ron::chain::run(argc, argv); }
