#include "observe/log_ring.h"

#include <atomic>
#include <functional>
#include <map>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace ron::observe {
namespace {

class StringSink final : public LogSink {
 public:
  void write(std::string_view lines) override {
    text += lines;
    ++writes;
  }
  std::string text;
  int writes = 0;
};

class FunctionSink final : public LogSink {
 public:
  explicit FunctionSink(std::function<void()> function) : function_(std::move(function)) {}
  void write(std::string_view) override { function_(); }

 private:
  std::function<void()> function_;
};

TEST(LogRing, DrainsInOrderAndInOneWrite) {
  LogRing ring(10, 100);
  StringSink sink;
  EXPECT_TRUE(ring.push("a\n"));
  EXPECT_TRUE(ring.push("b\n"));
  EXPECT_EQ(ring.drain(sink), 2U);
  EXPECT_EQ(sink.text, "a\nb\n");
  EXPECT_EQ(sink.writes, 1);
}

TEST(LogRing, EmptyDrainWritesNothing) {
  LogRing ring(10, 100);
  StringSink sink;
  EXPECT_EQ(ring.drain(sink), 0U);
  EXPECT_EQ(sink.writes, 0);
}

TEST(LogRing, RefusesNewLinesWhenTheLineBoundIsReached) {
  LogRing ring(2, 100);
  StringSink sink;
  EXPECT_TRUE(ring.push("a\n"));
  EXPECT_TRUE(ring.push("b\n"));
  EXPECT_FALSE(ring.push("c\n"));
  ring.drain(sink);
  EXPECT_EQ(sink.text, "a\nb\n");
  EXPECT_TRUE(ring.push("d\n"));
}

TEST(LogRing, RefusesNewLinesWhenTheByteBoundIsReached) {
  LogRing ring(100, 5);
  EXPECT_TRUE(ring.push("ab\n"));
  EXPECT_FALSE(ring.push("cd\n"));
  EXPECT_TRUE(ring.push("e\n"));
  EXPECT_FALSE(ring.push("\n"));
}

TEST(LogRing, ProducersAreNotHeldUpByTheSink) {
  LogRing ring(2, 100);
  EXPECT_TRUE(ring.push("a\n"));
  std::vector<bool> taken;
  FunctionSink sink([&] {  // the sink is in the middle of a write
    taken = {ring.push("b\n"), ring.push("c\n"), ring.push("d\n")};
  });
  EXPECT_EQ(ring.drain(sink), 1U);
  EXPECT_EQ(taken, (std::vector<bool>{true, true, false}));
  StringSink rest;
  ring.drain(rest);
  EXPECT_EQ(rest.text, "b\nc\n");
}

TEST(LogRing, StopWritesTheRestAndTakesNoMore) {
  LogRing ring(10, 100);
  StringSink sink;
  EXPECT_TRUE(ring.push("a\n"));
  ring.stop();
  EXPECT_FALSE(ring.push("b\n"));
  EXPECT_TRUE(ring.wait_and_drain(sink));
  EXPECT_FALSE(ring.wait_and_drain(sink));
  EXPECT_EQ(sink.text, "a\n");
}

TEST(LogRing, StopWakesAWaitingConsumer) {
  LogRing ring(10, 100);
  StringSink sink;
  std::jthread consumer([&] {
    while (ring.wait_and_drain(sink)) {
    }
  });
  ring.stop();
  consumer.join();
  EXPECT_EQ(sink.writes, 0);
}

TEST(LogRing, ALineWakesAWaitingConsumer) {
  LogRing ring(10, 100);
  std::atomic<int> written{0};
  FunctionSink sink([&] {
    ++written;
    written.notify_one();
  });
  std::jthread consumer([&] {
    while (ring.wait_and_drain(sink)) {
    }
  });
  for (int i = 0; i < 200; ++i) {
    EXPECT_TRUE(ring.push("a\n"));
    written.wait(i);  // returns only when the consumer woke for this very line
  }
  ring.stop();
  consumer.join();
  EXPECT_EQ(written, 200);
}

// Every line is "<producer> <number>\n"; checks that each is whole and that numbers ascend.
class CheckingSink final : public LogSink {
 public:
  void write(std::string_view lines) override {
    ASSERT_TRUE(lines.ends_with('\n'));
    while (!lines.empty()) {
      const std::size_t end = lines.find('\n');
      const std::string line(lines.substr(0, end));
      lines.remove_prefix(end + 1);
      std::size_t digits = 0;
      const int producer = std::stoi(line, &digits);
      const int number = std::stoi(line.substr(digits + 1));
      const auto [last, first_seen] = last_.try_emplace(producer, -1);
      ASSERT_GT(number, last->second);
      last->second = number;
      ++count;
    }
  }
  std::uint64_t count = 0;

 private:
  std::map<int, int> last_;
};

TEST(LogRing, EveryLineIsEitherWrittenOnceOrRefused) {
  constexpr int kProducers = 4;
  constexpr int kLines = 5000;
  LogRing ring(64, 1024);
  CheckingSink sink;
  std::atomic<std::uint64_t> accepted{0};
  std::atomic<std::uint64_t> refused{0};
  std::jthread consumer([&] {
    while (ring.wait_and_drain(sink)) {
    }
  });
  std::vector<std::jthread> producers;
  for (int p = 0; p < kProducers; ++p) {
    producers.emplace_back([&, p] {
      for (int i = 0; i < kLines; ++i) {
        const bool taken = ring.push(std::to_string(p) + " " + std::to_string(i) + "\n");
        ++(taken ? accepted : refused);
      }
    });
  }
  producers.clear();
  ring.stop();
  consumer.join();
  EXPECT_EQ(accepted + refused, static_cast<std::uint64_t>(kProducers) * kLines);
  EXPECT_EQ(sink.count, accepted);
}

}  // namespace
}  // namespace ron::observe
