// A log on the real disk that one core writes while others read; ThreadSanitizer is run over it.
#include <atomic>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "chain/frame_log.h"
#include "chain/test_frame_log.h"
#include "platform/contract_world.h"

namespace ron::chain {
namespace {

using base::Code;

struct Shared {
  FrameLog* log;
  std::atomic<bool> done = false;
  std::atomic<std::uint64_t> frames_read = 0;
};

base::Result<void> visit_nothing(const FrameView&) { return {}; }

platform::Task<void> write_all(Shared* shared) {
  auto opened = co_await shared->log->open(0, visit_nothing);
  EXPECT_TRUE(opened);
  // Goes on until the readers have had their share, however slow the machine is.
  while (opened && (shared->log->next() < 2000 || shared->frames_read < 5000)) {
    std::vector<std::string> batch;
    for (std::uint64_t i = 0; i < 10; ++i) batch.push_back(frame_text(shared->log->next() + i));
    auto appended = co_await shared->log->append(std::move(batch));
    EXPECT_TRUE(appended);
    if (!appended) break;
    const std::uint64_t next = shared->log->next();
    auto dropped = co_await shared->log->drop_below(next > 1000 ? next - 1000 : 0);
    EXPECT_TRUE(dropped);
  }
  shared->done = true;
}

platform::Task<void> read_some(Shared* shared, std::uint64_t seed) {
  platform::FastRandom random(seed);
  while (!shared->done) {
    const std::uint64_t first = shared->log->first();
    const std::uint64_t next = shared->log->next();
    co_await platform::Yield();
    if (next <= first) continue;
    const std::uint64_t number = first + random.below(next - first);
    auto frames = co_await shared->log->read(number, 20, 10'000);
    if (!frames) {
      EXPECT_EQ(frames.error().code, Code::NotFound) << frames.error().message;
      continue;
    }
    for (std::uint64_t i = 0; i < frames->size(); ++i) {
      EXPECT_EQ((*frames)[i], frame_text(number + i));
    }
    shared->frames_read += frames->size();
  }
}

TEST(FrameLogThreads, OtherCoresReadWhileOneWritesAndDrops) {
  const platform::test::ScratchDirectory scratch;
  platform::posix::PosixHost machine({.cores = 3, .blocking_threads = 2});
  FrameLog log({.disk = &machine.host().disk,
                .random = &machine.host().random,
                .lock = &runtime::kTestLocks[0],
                .directory = scratch.path() + "/log",
                .segment_bytes = 20'000,
                .on_trouble = {}});
  Shared shared{&log};
  struct Begin : platform::Job {
    Begin() : Job([](Job&) noexcept {}) {}
  } begin;
  std::atomic<int> left = 3;
  const auto ended = [&] {
    if (--left == 0) machine.stop();
  };
  const auto& cores = machine.host().cores;
  const platform::test::Root writer(*cores[0], write_all(&shared), ended);
  const platform::test::Root reader(*cores[1], read_some(&shared, 1), ended);
  const platform::test::Root other(*cores[2], read_some(&shared, 2), ended);
  machine.run(begin);
  EXPECT_GE(shared.frames_read, 5000U);
}

}  // namespace
}  // namespace ron::chain
