// CPU time of one exchange on a kept connection: a GET that is answered with 1 KiB, as a proxy does
// it towards its upstream. In memory it is the client alone; over loopback the kernel's part of the
// client's side is included, while the upstream runs on a core of its own. The time of a benchmark
// is that of the client's thread. `allocations` are calls to the allocator per exchange, of the
// whole process: anything but 0 is something that came with the request.
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include <benchmark/benchmark.h>

#include "http/client.h"
#include "platform/posix/host.h"
#include "platform/test_support.h"

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

using platform::IoResult;
using platform::Task;

constexpr std::string_view kTarget =
    "/o/b3:d74981efa70a0c880b8d8c1985d075dbcbf679b99a5f9914e5aaf96b831a9e24";

std::string answer_with(std::size_t bytes) {
  return "HTTP/1.1 200 OK\r\n"
         "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n"
         "Content-Length: " +
         std::to_string(bytes) +
         "\r\n"
         "ETag: \"b3:d74981efa70a0c880b8d8c1985d075dbcbf679b99a5f9914e5aaf96b831a9e24\"\r\n"
         "Accept-Ranges: bytes\r\n"
         "Cache-Control: public, max-age=31536000, immutable\r\n"
         "Vary: Accept-Encoding\r\n"
         "X-Corr-ID: 01ARZ3NDEKTSV4RRFFQ69G5FAV\r\n\r\n" +
         std::string(bytes, 'x');
}

// Answers each write at once.
class MemoryStream final : public platform::Stream {
 public:
  explicit MemoryStream(std::string_view answer) : answer_(answer) { writable_.set(); }

  IoResult try_read(base::MutableBytes into) noexcept override {
    if (unread_.empty()) {
      readable_.clear();
      return IoResult::blocked();
    }
    const std::size_t size = std::min(into.size(), unread_.size());
    std::memcpy(into.data(), unread_.data(), size);
    unread_.remove_prefix(size);
    if (unread_.empty()) readable_.clear();
    return IoResult::moved(size);
  }
  using Stream::try_write;
  IoResult try_write(std::span<const base::ByteView> spans, platform::Flush) noexcept override {
    std::size_t bytes = 0;
    for (const base::ByteView span : spans) bytes += span.size();
    if (bytes > 0) unread_ = answer_;
    if (bytes > 0) readable_.set();
    return IoResult::moved(bytes);
  }
  void shutdown_write() noexcept override {}
  void abort() noexcept override {}
  [[nodiscard]] const platform::Endpoint& peer() const noexcept override { return peer_; }

 private:
  std::string_view answer_;
  std::string_view unread_;
  platform::Endpoint peer_ = platform::Endpoint::loopback(80);
};

class MemoryNet final : public platform::Net {
 public:
  explicit MemoryNet(std::string answer) : answer_(std::move(answer)) {}
  base::Result<std::unique_ptr<platform::Listener>> listen(const platform::Endpoint&) override {
    return base::fail(base::Code::Internal, "nobody listens in memory");
  }
  base::Result<std::unique_ptr<platform::Stream>> connect(const platform::Endpoint&) override {
    return std::make_unique<MemoryStream>(answer_);
  }
  [[nodiscard]] std::uint32_t own_uid() const noexcept override { return 0; }

 private:
  std::string answer_;
};

// The upstream: says its answer for every read, as long as requests fit into one.
Task<void> answer_all(platform::Net* net, std::string answer,
                      std::atomic<std::uint16_t>* listening) {
  const auto listener = net->listen(platform::Endpoint::loopback(0));
  listening->store((*listener)->local().port);
  const auto stream = co_await platform::test::accept(listener->get());
  std::array<std::byte, 16384> request;
  const base::ByteView bytes = base::as_bytes(answer);
  for (;;) {
    const IoResult read = stream->try_read(request);
    if (read.would_block()) {
      co_await stream->readable().wait();
    } else if (!read.ok()) {
      co_return;
    } else {
      base::ByteView left = bytes;
      while (!left.empty()) {
        const IoResult written = stream->try_write({&left, 1});
        if (written.ok()) left = left.subspan(written.bytes);
        if (written.would_block()) co_await stream->writable().wait();
        if (!written.ok() && !written.would_block()) co_return;
      }
    }
  }
}

// One exchange; how many bytes its body had.
Task<std::size_t> get_once(Client* client, platform::Endpoint at) {
  constexpr std::array kFields{Field{"Accept", "*/*"}, Field{"User-Agent", "wrk"},
                               Field{"X-Corr-ID", "01ARZ3NDEKTSV4RRFFQ69G5FAV"}};
  const ClientRequest get{
      .endpoint = std::move(at), .target = kTarget, .host = "upstream:8081", .fields = kFields};
  auto response = co_await client->send(get, runtime::Deadline::in(std::chrono::seconds(5)));
  std::size_t bytes = 0;
  while (response && !response->finished()) {
    const auto piece = co_await response->next();
    if (!piece) break;
    bytes += piece->size();
  }
  co_return bytes;
}

Task<void> exchange(benchmark::State* state, platform::Net* net, platform::Endpoint at) {
  runtime::Meters meters("bench");
  Client client(*net, {}, meters);
  co_await get_once(&client, at);  // connects and fills the pools
  const auto wanted = static_cast<std::size_t>(state->range(0));
  const std::uint64_t before = allocations.load();
  for (auto _ : *state) {
    const std::size_t bytes = co_await get_once(&client, at);
    if (bytes == wanted) continue;
    state->SkipWithError("no whole answer");
    break;
  }
  const auto made = static_cast<double>(allocations.load() - before);
  state->counters["allocations"] = made / static_cast<double>(state->iterations());
  state->SetBytesProcessed(static_cast<std::int64_t>(state->iterations() * wanted));
  co_await client.close(runtime::Deadline::in(std::chrono::seconds(1)));
}

struct Begin : platform::Job {
  Begin() : Job([](Job&) noexcept {}) {}
};

void in_memory(benchmark::State& state) {
  MemoryNet net(answer_with(static_cast<std::size_t>(state.range(0))));
  platform::posix::PosixHost machine({.cores = 1, .blocking_threads = 1});
  const platform::test::Root running(*machine.host().cores[0],
                                     exchange(&state, &net, platform::Endpoint::loopback(80)),
                                     [&] { machine.stop(); });
  Begin begin;
  machine.run(begin);
}
BENCHMARK(in_memory)->Arg(1024)->Arg(65536)->Unit(benchmark::kMicrosecond);

// Runs the exchange once the upstream listens.
Task<void> when_listening(benchmark::State* state, platform::Net* net,
                          std::atomic<std::uint16_t>* listening) {
  while (listening->load() == 0) co_await platform::test::pause(std::chrono::milliseconds(1));
  co_await exchange(state, net, platform::Endpoint::loopback(listening->load()));
}

void over_loopback(benchmark::State& state) {
  platform::posix::PosixHost machine({.cores = 2, .blocking_threads = 1});
  const platform::Host host = machine.host();
  std::atomic<std::uint16_t> listening = 0;
  const std::string answer = answer_with(static_cast<std::size_t>(state.range(0)));
  const platform::test::Root upstream(*host.cores[1], answer_all(&host.net, answer, &listening));
  const platform::test::Root running(*host.cores[0], when_listening(&state, &host.net, &listening),
                                     [&] { machine.stop(); });
  Begin begin;
  machine.run(begin);
}
BENCHMARK(over_loopback)->Arg(1024)->Arg(65536)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace ron::http

BENCHMARK_MAIN();
