// The storage service in small: Listener → work queue of 2 → Worker, with a shutdown watch. It is
// svc-edge's model as well: misses go the same way through the same queue (kit/work_queue.h).
// No deadlock, no lost shutdown; a job is handled or dropped with the queue, exactly once.
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "expect.h"
#include "explorer.h"
#include "runtime/mpsc_state.h"
#include "runtime/watch_state.h"
#include "seeded.h"
#include "waiting.h"

namespace ron::models {
namespace {

struct Ledger {
  int made = 0;
  int dropped = 0;
  int accepted = 0;
  int busy = 0;  // refused: Full or Closed
  int handled = 0;
};

// A job is owned by one holder at a time. It can be interrupted while it changes hands.
class Job {
 public:
  explicit Job(Ledger& ledger) : ledger_(&ledger) { ++ledger.made; }
  Job(Job&& other) noexcept : ledger_(other.ledger_) {
    if (interruptible) point();
    other.ledger_ = nullptr;
  }
  Job& operator=(Job&&) = delete;
  ~Job() {
    if (ledger_ != nullptr) check(++ledger_->dropped <= ledger_->made, "no job is dropped twice");
  }
  void handle() {
    check(ledger_ != nullptr, "a worker gets a whole job");
    ++ledger_->handled;
  }

  static inline bool interruptible = false;  // a setup sets it

 private:
  Ledger* ledger_;
};

template <class Sync>
struct Storage {
  using Work = runtime::MpscState<Job, Sync>;
  using Stop = runtime::WatchState<bool, Sync>;

  void listen(int jobs) {
    for (int i = 0; i < jobs; ++i) {
      if (work->try_send(Job(ledger))) {
        ++ledger.accepted;
      } else {
        ++ledger.busy;
      }
    }
  }
  // Handles jobs until the stop is seen; what is queued then is handled first.
  void serve() {
    for (;;) {
      std::optional<Job> job;
      const Waited waited = wait_for(RecvOp{*work, job, 0}, ChangedOp<Stop>{stop});
      if (waited == Waited::Stopped) check(stop_requested, "nobody stops unasked");
      if (waited != Waited::Ready) break;
      job->handle();
    }
    ++workers_done;
  }
  // A worker that looks for the stop only between jobs.
  void serve_deaf() {
    while (!stop.get().value) {
      std::optional<Job> job;
      if (wait_for(RecvOp{*work, job, 0}) == Waited::Ready) job->handle();
    }
  }
  void shut_down() {
    stop.set(true);
    stop_requested = true;
  }
  void check_jobs() {
    const int left = static_cast<int>(work->depth());
    check(ledger.handled + left == ledger.accepted, "an accepted job is handled or still queued");
    check(ledger.accepted + ledger.busy == ledger.made, "every job has one answer");
    check(ledger.dropped + left == ledger.made, "what left the queue is gone");
    work.reset();
    check(ledger.dropped == ledger.made, "every job is dropped once");
  }

  Ledger ledger;
  std::optional<Work> work{std::in_place, 2, runtime::Overflow::RejectNew};
  Stop stop{false};
  bool stop_requested = false;
  int workers_done = 0;
};

template <class Sync = ModelSync>
Scenario service(int jobs, int workers) {
  return [=](Model& model) {
    Job::interruptible = false;
    auto storage = std::make_shared<Storage<Sync>>();
    model.thread("listener", [=] { storage->listen(jobs); });
    for (int i = 0; i < workers; ++i) {
      model.thread("worker " + std::to_string(i), [=] { storage->serve(); });
    }
    model.thread("supervisor", [=] { storage->shut_down(); });
    model.finally([=] {
      check(storage->workers_done == workers, "every worker sees the shutdown");
      storage->check_jobs();
    });
  };
}

TEST(StorageModel, WorkerHandlesTheJobOrObservesShutdown) {
  expect_holds("storage/listener, work(2), worker, shutdown, 1 job", service(1, 1));
  expect_holds("storage/listener, work(2), worker, shutdown, 2 jobs", service(2, 1));
  expect_holds("storage/listener, work(2), worker, shutdown, 3 jobs", service(3, 1));
}

// Both workers wait for work and for the stop at once. One may be woken for a job that the other
// takes, wait again, and then be stopped while the old wake-up is still queued.
TEST(StorageModel, WorkersOfAPoolLeaveNothingBehind) {
  expect_holds("storage/listener, work(2), 2 workers, shutdown, 1 job", service(1, 2));
}

// Two workers reach for the only job; its hand-over can be interrupted.
template <class Sync = ModelSync>
Scenario takers() {
  return [](Model& model) {
    Job::interruptible = true;
    auto storage = std::make_shared<Storage<Sync>>();
    storage->listen(1);
    for (const char* name : {"first worker", "second worker"}) {
      model.thread(name, [=] {
        std::optional<Job> job;
        if (storage->work->try_recv(job) == runtime::Poll::Ready) job->handle();
      });
    }
    model.finally([=] { storage->check_jobs(); });
  };
}

TEST(StorageModel, JobGoesToOneWorker) { expect_holds("storage/2 workers, 1 job", takers()); }

// Two phases: the listener stops and closes the queue; the workers drain it to the end.
TEST(StorageModel, DrainHandlesEverythingAccepted) {
  expect_holds("storage/close and drain, 2 jobs", [](Model& model) {
    Job::interruptible = false;
    auto storage = std::make_shared<Storage<ModelSync>>();
    model.thread("listener", [=] { storage->listen(2); });
    model.thread("supervisor", [=] { storage->work->close(); });
    model.thread("worker", [=] { storage->serve(); });
    model.finally([=] {
      check(storage->ledger.handled == storage->ledger.accepted, "what was accepted is handled");
      storage->check_jobs();
    });
  });
}

TEST(StorageModel, SeededBugsAreCaught) {
  expect_caught("storage/worker deaf to shutdown", [](Model& model) {
    Job::interruptible = false;
    auto storage = std::make_shared<Storage<ModelSync>>();
    model.thread("listener", [=] { storage->listen(1); });
    model.thread("worker", [=] { storage->serve_deaf(); });
    model.thread("supervisor", [=] { storage->shut_down(); });
  });
  expect_caught("storage/lost shutdown", [](Model& model) {
    LostWakeSync::lost = false;
    service<LostWakeSync>(0, 1)(model);
  });
  expect_caught("storage/no lock, job taken twice", takers<OpenSync>());
  expect_caught("storage/worker leaves with its wake-up queued", service<StaleWakeSync>(1, 2));
}

}  // namespace
}  // namespace ron::models
