// What a map of two million entries costs: writes in batches, answers from memory, and reads of a
// file from the page cache.
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include <benchmark/benchmark.h>

#include "platform/posix/host.h"
#include "platform/random.h"
#include "platform/test_support.h"

namespace ron::platform::posix {
namespace {

constexpr std::size_t kEntries = 2'000'000;
constexpr std::size_t kBatch = 64;

std::string key(std::uint64_t number) {
  FastRandom random(number);
  std::string text(32, '\0');
  for (std::size_t at = 0; at < text.size(); at += 8) {
    const std::uint64_t word = random.next();
    std::memcpy(text.data() + at, &word, sizeof word);
  }
  return text;
}

// Runs the body on the machine's loop; a host runs once.
struct Machine {
  void run(Task<void> task) {
    struct Begin : Job {
      Begin() : Job([](Job&) noexcept {}) {}
    } begin;
    const test::Root root(*host.host().cores[0], std::move(task), [this] { host.stop(); });
    host.run(begin);
  }
  PosixHost host;
  std::string path = std::filesystem::temp_directory_path() / "ron-key-value-bench";
};

Task<void> write_entries(KeyValue* map, benchmark::State* state) {
  std::uint64_t next = 0;
  for (auto _ : *state) {
    KeyValueBatch batch;
    for (std::size_t i = 0; i < kBatch; ++i) batch.put(key(next++), std::string(60, 'v'));
    const base::Result<void> written = co_await map->write(std::move(batch));
    if (!written) state->SkipWithError(written.error().message.c_str());
  }
  state->SetItemsProcessed(static_cast<std::int64_t>(next));
}

Task<void> fill(KeyValue* map) {
  for (std::uint64_t next = 0; next < kEntries;) {
    KeyValueBatch batch;
    for (std::size_t i = 0; i < kBatch; ++i) batch.put(key(next++), std::string(60, 'v'));
    co_await map->write(std::move(batch));
  }
  co_await map->flush();
}

Task<void> look_up(KeyValue* map, benchmark::State* state, bool present, std::uint64_t among) {
  for (std::uint64_t i = 0; i < among; ++i) co_await map->get(key(i + (present ? 0 : kEntries)));
  std::string value;
  std::uint64_t at = 0;
  std::uint64_t answered = 0;
  for (auto _ : *state) {
    const std::string wanted = key(at + (present ? 0 : kEntries));
    const base::Result<KeyValue::Found> found = map->try_get(wanted, value);
    if (found && *found != KeyValue::Found::Unknown) ++answered;
    at = (at + 7919) % among;
  }
  state->counters["answered"] =
      benchmark::Counter(static_cast<double>(answered), benchmark::Counter::kAvgIterations);
}

Task<void> with_map(Machine* machine, std::uint64_t cache_bytes,
                    std::function<Task<void>(KeyValue*)> body) {
  co_await machine->host.host().key_values.destroy(machine->path);
  auto map = co_await machine->host.host().key_values.open(machine->path, {cache_bytes});
  if (map) co_await body(map->get());
  if (map) map->reset();
  co_await machine->host.host().key_values.destroy(machine->path);
}

void write_batches(benchmark::State& state) {
  Machine machine;
  machine.run(
      with_map(&machine, 512 << 20, [&](KeyValue* map) { return write_entries(map, &state); }));
}
BENCHMARK(write_batches)->Iterations(kEntries / kBatch)->UseRealTime();

Task<void> fill_and_look_up(KeyValue* map, benchmark::State* state) {
  co_await fill(map);
  co_await look_up(map, state, state->range(0) != 0, static_cast<std::uint64_t>(state->range(1)));
}

// Arguments: whether the keys are there, and how many different ones are asked for.
void try_get(benchmark::State& state) {
  Machine machine;
  machine.run(
      with_map(&machine, 512 << 20, [&](KeyValue* map) { return fill_and_look_up(map, &state); }));
}
BENCHMARK(try_get)->Args({1, 10'000})->Args({1, 500'000})->Args({0, 500'000})->Iterations(500'000);

Task<void> read_warm(Disk* disk, std::string path, benchmark::State* state) {
  constexpr std::size_t kBytes = 64 * 1024;
  auto file = co_await disk->open(path, {OpenMode::CreateOrOpen, false});
  base::Buffer bytes(kBytes);
  std::memset(bytes.data(), 1, kBytes);
  co_await (*file)->write_at(0, std::move(bytes));
  base::Buffer into(kBytes);
  std::uint64_t answered = 0;
  for (auto _ : *state) answered += (*file)->try_read_at(0, into.span()).has_value() ? 1 : 0;
  state->counters["answered"] =
      benchmark::Counter(static_cast<double>(answered), benchmark::Counter::kAvgIterations);
  co_await disk->remove(path);
}

void try_read_64k(benchmark::State& state) {
  Machine machine;
  machine.run(read_warm(&machine.host.host().disk, machine.path + "-file", &state));
}
BENCHMARK(try_read_64k);

}  // namespace
}  // namespace ron::platform::posix

BENCHMARK_MAIN();
