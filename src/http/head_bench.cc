// Cost of reading a request head and of writing a response head, in nanoseconds per head.
#include <array>
#include <string>
#include <string_view>

#include <benchmark/benchmark.h>

#include "http/head.h"
#include "http/message.h"

namespace ron::http {
namespace {

constexpr std::string_view kSmall =
    "GET /o/b3:d74981efa70a0c880b8d8c1985d075dbcbf679b99a5f9914e5aaf96b831a9e24 HTTP/1.1\r\n"
    "Host: localhost:8080\r\n"
    "User-Agent: wrk\r\n"
    "Accept: */*\r\n\r\n";

constexpr std::string_view kTypical =
    "GET /o/b3:d74981efa70a0c880b8d8c1985d075dbcbf679b99a5f9914e5aaf96b831a9e24 HTTP/1.1\r\n"
    "Host: localhost:8080\r\n"
    "User-Agent: curl/7.88.1\r\n"
    "Accept: */*\r\n"
    "Accept-Encoding: gzip, br\r\n"
    "Range: bytes=0-65535\r\n"
    "If-None-Match: \"b3:0000\"\r\n"
    "X-Corr-ID: 01ARZ3NDEKTSV4RRFFQ69G5FAV\r\n"
    "Connection: keep-alive\r\n\r\n";

void parse(benchmark::State& state, std::string_view text) {
  HeadParser parser;
  RequestHead head;
  for (auto _ : state) {
    benchmark::DoNotOptimize(text);
    HeadOutcome outcome = parser.parse(text, head);
    benchmark::DoNotOptimize(outcome);
    benchmark::DoNotOptimize(head);
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * text.size()));
}
BENCHMARK_CAPTURE(parse, small, kSmall);
BENCHMARK_CAPTURE(parse, typical, kTypical);

void parse_dribbled(benchmark::State& state) {
  std::string text = "GET / HTTP/1.1\r\nHost: a\r\nX-Long: ";
  text.append(15000, 'x').append("\r\n\r\n");
  HeadParser parser;
  RequestHead head;
  for (auto _ : state) {
    for (std::size_t length = 1; length <= text.size(); ++length) {
      HeadOutcome outcome = parser.parse({text.data(), length}, head);
      benchmark::DoNotOptimize(outcome);
    }
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * text.size()));
}
BENCHMARK(parse_dribbled);

void render_object_reply(benchmark::State& state) {
  constexpr std::array kFields{
      Field{"ETag", "\"b3:d74981efa70a0c880b8d8c1985d075dbcbf679b99a5f9914e5aaf96b831a9e24\""},
      Field{"Accept-Ranges", "bytes"},
      Field{"Cache-Control", "public, max-age=31536000, immutable"},
      Field{"Vary", "Accept-Encoding"},
      Field{"X-Corr-ID", "01ARZ3NDEKTSV4RRFFQ69G5FAV"},
  };
  std::array<char, 1024> memory;
  HeadBuffer buffer(memory);
  for (auto _ : state) {
    buffer.clear();
    const bool fine =
        render({.content_length = 1024, .date = "Sun, 06 Nov 1994 08:49:37 GMT", .fields = kFields},
               buffer);
    benchmark::DoNotOptimize(fine);
    benchmark::DoNotOptimize(memory);
  }
}
BENCHMARK(render_object_reply);

}  // namespace
}  // namespace ron::http

BENCHMARK_MAIN();
