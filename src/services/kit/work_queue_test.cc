#include "services/kit/work_queue.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/test_executor.h"
#include "runtime/test_wires.h"

namespace ron::kit {
namespace {

using namespace std::chrono_literals;
using base::Code;
using base::Result;
using platform::Task;
using runtime::Deadline;
using runtime::Running;

struct WorkQueueTest : testing::Test {
  struct Echo {
    using Answer = int;
    static constexpr std::size_t kLane = 0;
    Deadline deadline{};
    std::optional<runtime::OneshotSender<Result<int>>> reply{};
    int value = 0;
    base::Duration takes{};
  };
  using Queue = WorkQueue<std::variant<Echo>>;

  // What a worker does; `begun` counts.
  static Task<void> run(Echo job, int* begun) {
    ++*begun;
    if (job.takes > base::Duration::zero()) co_await runtime::sleep_for(job.takes);
    std::move(*job.reply).send(job.value);
  }
  static Task<void> worker(Queue* queue, int* begun) {
    return queue->work({}, 0, [begun](Echo job) { return run(std::move(job), begun); });
  }
  Task<Result<int>> ask(int value, base::Duration takes = {}) {
    Echo job;
    job.value = value;
    job.takes = takes;
    return queue.ask(std::move(job), WhenFull::Refuse);
  }
  std::uint64_t abandoned(std::string_view stage) {
    return service.meters
        .counter(runtime::metrics::kWorkAbandonedTotal, {runtime::kWork.name, stage})
        .value();
  }

  runtime::TestCores cores;
  runtime::TestService service;
  Queue queue{service.topology, runtime::kWork, 512};
  int begun = 0;
};

TEST_F(WorkQueueTest, WhoAsksHearsWhatTheWorkerSays) {
  Running work(cores[0], worker(&queue, &begun));
  Running asked(cores[0], ask(7));
  cores.run();
  ASSERT_TRUE(asked.done());
  EXPECT_EQ(asked.value(), 7);
}

// A lane full of work that never waits: whatever else is ready on the core, a socket for instance,
// has its turn after a bounded number of jobs.
TEST_F(WorkQueueTest, WorkersGiveWayAfterABoundedNumberOfJobs) {
  constexpr int kJobsPerTurn = platform::Executor::kTurnBytes / platform::Executor::kItemBytes;
  std::vector<std::unique_ptr<Running<Result<int>>>> asked;
  for (int i = 0; i < 512; ++i) {
    asked.push_back(std::make_unique<Running<Result<int>>>(cores[0], ask(i)));
  }
  cores.run();
  ASSERT_EQ(queue.depth(), 512U);
  std::vector<std::unique_ptr<Running<void>>> workers;
  for (int i = 0; i < 8; ++i) {
    workers.push_back(std::make_unique<Running<void>>(cores[0], worker(&queue, &begun)));
  }
  int most = 0;
  for (int before = begun; cores[0].run_one(); before = begun) {
    most = std::max(most, begun - before);
  }
  EXPECT_EQ(most, kJobsPerTurn);
  EXPECT_EQ(begun, 512);
  for (const auto& one : asked) EXPECT_TRUE(one->done());
}

TEST_F(WorkQueueTest, AJobWhoseClientLeavesIsDroppedWhereItWaits) {
  Running work(cores[0], worker(&queue, &begun));
  {
    Running leaves(cores[0], ask(1, 1h));
    cores.run();
    EXPECT_EQ(begun, 1);
  }
  Running stays(cores[0], ask(2));
  cores.run();
  EXPECT_TRUE(stays.done());
  EXPECT_EQ(abandoned("running"), 1U);
  EXPECT_EQ(abandoned("queued"), 0U);
}

TEST_F(WorkQueueTest, AJobWhoseClientHasLeftIsNotBegun) {
  {
    Running leaves(cores[0], ask(1));
    cores.run();
  }
  Running work(cores[0], worker(&queue, &begun));
  cores.run();
  EXPECT_EQ(begun, 0);
  EXPECT_EQ(abandoned("queued"), 1U);
}

TEST_F(WorkQueueTest, AClientWhoseDeadlinePassesHasLeft) {
  Running work(cores[0], worker(&queue, &begun));
  Echo job;
  job.takes = 1h;
  job.deadline = cores[0].in(1s);
  Running late(cores[0], queue.ask(std::move(job), WhenFull::Refuse));
  cores.advance(1s);
  ASSERT_TRUE(late.done());
  EXPECT_EQ(late.value().error().code, Code::Timeout);
  EXPECT_EQ(abandoned("running"), 1U);
}

// A change that was handed on with its reply is not undone: the worker is done with it.
TEST_F(WorkQueueTest, WhatWasHandedOnIsNotDropped) {
  std::vector<runtime::OneshotSender<Result<int>>> handed;
  const auto hand_on = [&](Echo job) {
    struct Hand {
      static Task<void> on(Echo one, std::vector<runtime::OneshotSender<Result<int>>>* to) {
        to->push_back(std::move(*one.reply));
        co_return;
      }
    };
    return Hand::on(std::move(job), &handed);
  };
  Running work(cores[0], queue.work({}, 0, hand_on));
  {
    Running leaves(cores[0], ask(1));
    cores.run();
  }
  cores.run();
  ASSERT_EQ(handed.size(), 1U);
  EXPECT_TRUE(handed[0].abandoned());
  EXPECT_EQ(abandoned("running"), 0U);
}

TEST_F(WorkQueueTest, APostedJobThatIsRefusedHearsWhy) {
  Queue small(service.topology, runtime::kJobs, 1);
  auto [kept, kept_answer] = runtime::oneshot<Result<int>>();
  auto [refused, answer] = runtime::oneshot<Result<int>>();
  Echo first;
  first.reply.emplace(std::move(kept));
  small.post(std::move(first));
  Echo second;
  second.reply.emplace(std::move(refused));
  small.post(std::move(second));
  Running heard(cores[0], answer.recv({}));
  cores.run();
  ASSERT_TRUE(heard.done());
  EXPECT_EQ(Queue::answer_of(std::move(heard.value())).error().code, Code::Busy);
}

}  // namespace
}  // namespace ron::kit
