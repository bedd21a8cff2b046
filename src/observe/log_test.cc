#include "observe/log.h"

#include <thread>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "runtime/metric_names.h"

namespace ron::observe {
namespace {

class StringSink final : public LogSink {
 public:
  void write(std::string_view lines) override { text += lines; }
  std::string text;
};

LogOptions options(Level level = Level::kInfo) {
  LogOptions made;
  made.level = level;
  made.unix_ms = [] { return 1469922850259; };
  return made;
}

struct LogLine : testing::Test {
  std::string drained() {
    StringSink sink;
    hub.drain(sink);
    return sink.text;
  }
  LogHub hub{options()};
  runtime::Meters meters{"svc-test"};
  Log log{hub, meters};
};

TEST_F(LogLine, LineCarriesServiceAndFields) {
  const std::string addr = "127.0.0.1";
  log.info("listener up", {{"addr", addr}, {"port", 8081}});
  EXPECT_EQ(drained(),
            "{\"time\":\"2016-07-30T23:54:10.259Z\",\"level\":\"info\",\"service\":\"svc-test\","
            "\"msg\":\"listener up\",\"addr\":\"127.0.0.1\",\"port\":8081}\n");
}

TEST_F(LogLine, CorrelationIdStaysWithTheRequestsLog) {
  const base::Ulid id(1469922850259, 1, 2);
  log.with(id).warn("slow");
  EXPECT_EQ(nlohmann::json::parse(drained())["corr_id"], id.text());
  log.warn("slow");
  EXPECT_FALSE(nlohmann::json::parse(drained()).contains("corr_id"));
}

TEST_F(LogLine, OffSilencesAndTheFormatIsSwappedWhileRunning) {
  hub.set_level(Level::kOff);
  log.error("quiet");
  EXPECT_EQ(drained(), "");
  hub.set_level(Level::kInfo);
  hub.set_format(LogFormat::kText);
  log.info("heard");
  EXPECT_EQ(drained(), "2016-07-30T23:54:10.259Z INFO  svc-test heard\n");
}

TEST_F(LogLine, LevelIsSwappedWhileRunning) {
  log.debug("quiet");
  EXPECT_EQ(drained(), "");
  hub.set_level(Level::kTrace);
  log.trace("heard");
  EXPECT_NE(drained(), "");
  hub.set_level(Level::kError);
  log.warn("quiet again");
  EXPECT_EQ(drained(), "");
  log.error("heard");
  EXPECT_NE(drained(), "");
}

TEST(Log, BelowTheLevelNotEvenTheClockIsRead) {
  int reads = 0;
  LogOptions counting = options();
  counting.unix_ms = [&] { return ++reads; };
  LogHub hub(std::move(counting));
  runtime::Meters meters("svc-test");
  const Log log(hub, meters);
  log.debug("quiet", {{"field", 1}});
  EXPECT_EQ(reads, 0);
  log.info("heard");
  EXPECT_EQ(reads, 1);
}

TEST(Log, DefaultConstructedSaysNothing) {
  const Log log;
  EXPECT_FALSE(log.enabled(Level::kError));
  log.error("nobody listens", {{"field", 1}});
}

TEST(Log, TextFormatIsChosenByTheOptions) {
  LogOptions text = options();
  text.format = LogFormat::kText;
  LogHub hub(std::move(text));
  runtime::Meters meters("svc-test");
  Log(hub, meters).info("up", {{"port", 1}});
  StringSink sink;
  hub.drain(sink);
  EXPECT_EQ(sink.text, "2016-07-30T23:54:10.259Z INFO  svc-test up port=1\n");
}

TEST(Log, DroppedLinesAreCounted) {
  LogOptions small = options();
  small.queue_lines = 2;
  LogHub hub(std::move(small));
  runtime::Meters meters("svc-test");
  const Log log(hub, meters);
  for (int i = 0; i < 5; ++i) log.info("line");
  StringSink sink;
  EXPECT_EQ(hub.drain(sink), 2U);
  EXPECT_EQ(meters.counter(runtime::metrics::kLogDroppedTotal).value(), 3U);
}

TEST(Log, WrittenAndDroppedAddUpAcrossThreads) {
  constexpr std::size_t kThreads = 4;
  constexpr std::size_t kLines = 2000;
  LogOptions small = options();
  small.queue_lines = 32;
  LogHub hub(std::move(small));
  runtime::Meters meters("svc-test");
  const Log log(hub, meters);
  StringSink sink;
  std::jthread writer([&] {
    while (hub.wait_and_drain(sink)) {
    }
  });
  std::vector<std::jthread> threads;
  for (std::size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (std::size_t i = 0; i < kLines; ++i) {
        log.info("line", {{"thread", t}, {"number", i}});
        if (i % 100 == 0) hub.set_level(i % 200 == 0 ? Level::kInfo : Level::kTrace);
      }
    });
  }
  threads.clear();
  hub.stop();
  writer.join();
  const auto written = static_cast<std::size_t>(std::ranges::count(sink.text, '\n'));
  const std::uint64_t dropped = meters.counter(runtime::metrics::kLogDroppedTotal).value();
  EXPECT_EQ(written + dropped, kThreads * kLines);
}

TEST(LogLimiter, AdmitsOncePerIntervalAndTellsHowManyItRefused) {
  LogLimiter site(1000);
  EXPECT_EQ(site.admit(5000), 0U);
  EXPECT_EQ(site.admit(5001), std::nullopt);
  EXPECT_EQ(site.admit(5999), std::nullopt);
  EXPECT_EQ(site.admit(6000), 2U);
  EXPECT_EQ(site.admit(7000), 0U);
}

TEST(LogLimiter, AClockSetBackDoesNotSilenceTheSite) {
  LogLimiter site(1000);
  EXPECT_EQ(site.admit(1'000'000), 0U);
  EXPECT_EQ(site.admit(10), 0U);
  EXPECT_EQ(site.admit(11), std::nullopt);
}

TEST(LogLimiter, OneOfManyThreadsSpeaks) {
  LogLimiter site(1000);
  std::atomic<std::uint64_t> admitted{0};
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) admitted += site.admit(5000).has_value() ? 1U : 0U;
    });
  }
  threads.clear();
  EXPECT_EQ(admitted, 1U);
  EXPECT_EQ(site.admit(6000), 3999U);
}

}  // namespace
}  // namespace ron::observe
