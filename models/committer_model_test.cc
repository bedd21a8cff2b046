// The registry's committer under every schedule: two queues and the watch that wakes it, commits
// that share a write, what is published and told, and a stop. registry.pml in spin/ has crashes and
// the chain in larger steps; here are the channels and wake-ups of Committer::run, ring and gather.
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "expect.h"
#include "explorer.h"
#include "runtime/broadcast_state.h"
#include "runtime/mpsc_state.h"
#include "runtime/oneshot_state.h"
#include "runtime/watch_state.h"
#include "seeded.h"
#include "waiting.h"

namespace ron::models {
namespace {

// Mistakes the committer could contain.
enum class Mistake : std::uint8_t {
  None,
  SeesLate,        // looks at the watch after it has looked into the queues
  RingsFirst,      // a producer rings before its job is queued
  ForgetsCommits,  // does not remember what it has committed
  KeepsFailed,     // goes on from a batch that the disk refused
  TellsFirst,      // answers before it publishes
  PublishesLate,   // tells who follows before it publishes
  DeafToStop,      // waits for work alone
  StopsLate,       // looks for the stop after it has looked into the queues
  LeavesAtStop,    // ends with the stop, whatever is queued, and nobody is told
};

// What came of one request.
struct Asked {
  int version = 0;   // of the commit that it was answered with
  int refused = 0;   // the queue was full, or the disk did not take it
  int canceled = 0;  // dropped with the queue
  int answered = 0;
  [[nodiscard]] int ends() const { return answered + refused + canceled; }
};

// A commit of the one proposal that there is. Whoever drops it unanswered cancels it.
template <class Sync>
class Job {
 public:
  using Reply = runtime::OneshotState<int, Sync>;

  explicit Job(Asked& asked, std::shared_ptr<Reply> reply = nullptr)
      : asked_(&asked), reply_(std::move(reply)) {}
  Job(Job&& other) noexcept
      : asked_(std::exchange(other.asked_, nullptr)), reply_(std::move(other.reply_)) {}
  Job& operator=(Job&&) = delete;
  ~Job() {
    if (asked_ == nullptr) return;
    ++asked_->canceled;
    if (reply_ != nullptr) reply_->sender_gone();
  }
  // 0: the disk did not take it.
  void answer(int version) && {
    Asked& asked = *std::exchange(asked_, nullptr);
    asked.version = version;
    ++(version == 0 ? asked.refused : asked.answered);
    if (reply_ != nullptr) reply_->send(version);
  }

 private:
  Asked* asked_;
  std::shared_ptr<Reply> reply_;
};

template <class Sync>
struct Registry {
  using Queue = runtime::MpscState<Job<Sync>, Sync>;
  using Number = runtime::WatchState<int, Sync>;
  using Committed = runtime::BroadcastState<int, Sync>;

  explicit Registry(Mistake what) : mistake(what) {}

  // WorkQueue::post or ask, and Committer::ring.
  void post(std::size_t queue, Asked& request,
            std::shared_ptr<typename Job<Sync>::Reply> reply = {}) {
    if (mistake == Mistake::RingsFirst) intake.set(0);
    auto sent = queues[queue]->try_send(Job<Sync>(request, std::move(reply)));
    if (!sent) {
      std::move(sent.error().value).answer(0);
    } else if (mistake != Mistake::RingsFirst) {
      intake.set(0);
    }
  }
  void ask(std::size_t queue, Asked& request) {
    auto reply = std::make_shared<typename Job<Sync>::Reply>();
    post(queue, request, reply);
    std::optional<int> version;
    wait_for(RecvOneshot{*reply, version});
  }

  // Committer::run, until the stop, or until so many requests have ended: without a stop that wakes
  // everybody, so that a wake-up that was lost shows.
  void run(std::optional<int> requests = std::nullopt) {
    int ended = 0;
    for (;;) {
      auto seen = intake.get().version;
      bool is_last = !requests && mistake != Mistake::StopsLate && stop.get().value != 0;
      std::vector<Job<Sync>> batch = gather();
      if (mistake == Mistake::SeesLate) seen = intake.get().version;
      if (!batch.empty()) {
        ended += static_cast<int>(batch.size());
        commit(std::move(batch));
        if (requests && ended == *requests) break;
        continue;
      }
      if (!requests && mistake == Mistake::StopsLate) is_last = stop.get().value != 0;
      if (is_last) break;
      using Changed = ChangedOp<Number>;
      const Changed changed{intake, seen};
      if (requests || mistake == Mistake::DeafToStop) {
        wait_for(changed);
      } else if (wait_for(changed, Changed{stop}) == Waited::Stopped &&
                 mistake == Mistake::LeavesAtStop) {
        break;
      }
    }
    has_ended = true;
  }
  // Until both are empty: what is sent meanwhile comes along.
  std::vector<Job<Sync>> gather() {
    std::vector<Job<Sync>> batch;
    for (;;) {
      std::optional<Job<Sync>> approval;
      std::optional<Job<Sync>> proposal;
      if (takes_approvals) queues[1]->try_recv(approval);
      if (approval) batch.push_back(std::move(*approval));
      queues[0]->try_recv(proposal);
      if (proposal) batch.push_back(std::move(*proposal));
      if (!approval && !proposal) return batch;
    }
  }
  void commit(std::vector<Job<Sync>> batch) {
    const std::optional<int> durable = committed_as;
    bool is_new = false;
    if (!committed_as || mistake == Mistake::ForgetsCommits) {
      committed_as = ++planned;
      is_new = true;
    }
    const bool fails = is_new && may_fail && choose(2) == 1;
    may_fail = may_fail && !fails;
    if (fails) {
      if (mistake != Mistake::KeepsFailed) {
        committed_as = durable;
        --planned;
      }
      for (Job<Sync>& job : batch) std::move(job).answer(0);
      return;
    }
    if (is_new) ++log;
    const int version = *committed_as;
    if (mistake == Mistake::TellsFirst) tell(batch, version);
    if (is_new && mistake == Mistake::PublishesLate) committed.send(version);
    if (is_new) head.set(version);
    if (is_new && mistake != Mistake::PublishesLate) committed.send(version);
    if (mistake != Mistake::TellsFirst) tell(batch, version);
  }
  void tell(std::vector<Job<Sync>>& batch, int version) {
    for (Job<Sync>& job : batch) std::move(job).answer(version);
  }
  // The service is taken down once its tasks have ended.
  void destroy() {
    for (auto& queue : queues) queue.reset();
  }
  // What a reader sees who was told of a version.
  void check_head(int told) { check(head.get().value >= told, "what was told is seen"); }

  // Hears of the first version that is committed after it subscribed.
  void follow(typename Committed::Cursor cursor) {
    std::optional<int> version;
    runtime::Lagged lagged;
    wait_for(RecvCommitted{committed, cursor, version, lagged});
    if (version) check_head(*version);
    heard = version.value_or(0);
  }

  // Leaves out what it has missed and goes on at HEAD, as a slow reader of events does.
  void skip(typename Committed::Cursor cursor) {
    const std::uint64_t skipped = committed.skip(cursor);
    heard = static_cast<int>(skipped);
    if (skipped != 0) check_head(heard);
  }

  struct RecvOneshot {
    using Waiter = typename Job<Sync>::Reply::Waiter;
    typename Job<Sync>::Reply& state;
    std::optional<int>& out;
    runtime::Poll poll(Waiter& waiter) { return state.poll_recv(out, waiter); }
    void forget(Waiter& waiter) { state.forget(waiter); }
  };
  struct RecvCommitted {
    using Waiter = typename Committed::Waiter;
    Committed& state;
    typename Committed::Cursor& cursor;
    std::optional<int>& out;
    runtime::Lagged& lagged;
    runtime::Poll poll(Waiter& waiter) { return state.poll_recv(cursor, out, lagged, waiter); }
    void forget(Waiter& waiter) { state.forget(waiter); }
  };

  const Mistake mistake;
  bool may_fail = false;        // the disk, once
  bool takes_approvals = true;  // false saves steps where nobody sends any
  std::array<std::unique_ptr<Queue>, 2> queues = {
      std::make_unique<Queue>(1, runtime::Overflow::RejectNew),
      std::make_unique<Queue>(1, runtime::Overflow::RejectNew)};  // proposals, approvals
  Number intake{0};
  Number stop{0};
  Number head{0};
  Committed committed{2};
  // The committer's.
  std::optional<int> committed_as;  // the proposal, once it is
  int planned = 0;
  int log = 0;  // versions that are durable
  bool has_ended = false;
  int heard = 0;
  std::array<Asked, 2> asked;
};

template <class Sync>
void check_answers(Registry<Sync>& registry, int requests) {
  check(registry.has_ended, "the committer ends");
  for (int i = 0; i < requests; ++i) {
    const Asked& asked = registry.asked[static_cast<std::size_t>(i)];
    check(asked.ends() == 1, "every request ends once");
    check(asked.answered == 0 || asked.version == 1, "a commit is answered with its version");
    check(asked.answered == 0 || registry.log == 1, "what is answered is durable");
  }
  check(registry.log <= 1, "the proposal is committed once");
  check(registry.head.get().value == registry.log, "HEAD is what is durable");
}

// Two clients commit the same proposal, each over a queue of its own, and both have to be heard.
template <class Sync = ModelSync>
Scenario two_clients(bool may_fail = false, Mistake mistake = Mistake::None) {
  return [=](Model& model) {
    auto registry = std::make_shared<Registry<Sync>>(mistake);
    registry->may_fail = may_fail;
    model.thread("client 0", [=] { registry->post(0, registry->asked[0]); });
    model.thread("client 1", [=] { registry->post(1, registry->asked[1]); });
    model.thread("committer", [=] { registry->run(2); });
    model.finally([=] { check_answers(*registry, 2); });
  };
}

TEST(CommitterModel, HearsBothQueuesAndCommitsOnce) {
  expect_holds("committer/2 clients, 2 queues", two_clients());
  expect_holds("committer/2 clients, 2 queues, the disk fails once", two_clients(true));
}

// One request is queued before the stop, another one at any moment before it: both are answered.
template <class Sync = ModelSync>
Scenario queued_before_stop(bool may_fail = false, Mistake mistake = Mistake::None) {
  return [=](Model& model) {
    auto registry = std::make_shared<Registry<Sync>>(mistake);
    registry->may_fail = may_fail;
    registry->takes_approvals = false;
    registry->post(0, registry->asked[0]);
    model.thread("client", [=] {
      registry->post(0, registry->asked[1]);
      registry->stop.set(1);
    });
    model.thread("committer", [=] { registry->run(); });
    model.finally([=] {
      registry->destroy();
      check_answers(*registry, 2);
      check(registry->asked[0].canceled + registry->asked[1].canceled == 0,
            "what was queued before the stop is answered");
    });
  };
}

TEST(CommitterModel, AnswersWhatWasQueuedBeforeTheStop) {
  expect_holds("committer/2 requests, stop", queued_before_stop());
  expect_holds("committer/2 requests, stop, the disk fails once", queued_before_stop(true));
}

// A client that waits for its answer sees at once what it was told.
template <class Sync = ModelSync>
Scenario told(Mistake mistake = Mistake::None) {
  return [=](Model& model) {
    auto registry = std::make_shared<Registry<Sync>>(mistake);
    model.thread("client", [=] {
      registry->ask(0, registry->asked[0]);
      registry->check_head(registry->asked[0].version);
    });
    model.thread("committer", [=] { registry->run(1); });
    model.finally([=] { check_answers(*registry, 1); });
  };
}

TEST(CommitterModel, WhatAClientIsToldItSees) {
  expect_holds("committer/client that waits", told());
}

// Somebody follows what is committed.
template <class Sync = ModelSync>
Scenario followed() {
  return [=](Model& model) {
    auto registry = std::make_shared<Registry<Sync>>(Mistake::None);
    const auto cursor = registry->committed.subscribe();
    model.thread("client", [=] { registry->post(0, registry->asked[0]); });
    model.thread("committer", [=] { registry->run(1); });
    model.thread("subscriber", [=] { registry->follow(cursor); });
    model.finally([=] {
      check(registry->heard == 1, "who waits hears of the version");
      check_answers(*registry, 1);
    });
  };
}

// And goes on at HEAD if it was slow. The first of the two clients has sent its request already.
template <class Sync = ModelSync>
Scenario skipped(Mistake mistake = Mistake::None) {
  return [=](Model& model) {
    auto registry = std::make_shared<Registry<Sync>>(mistake);
    const auto cursor = registry->committed.subscribe();
    registry->post(0, registry->asked[0]);
    model.thread("client", [=] { registry->post(1, registry->asked[1]); });
    model.thread("committer", [=] { registry->run(2); });
    model.thread("subscriber", [=] { registry->skip(cursor); });
    model.finally([=] {
      check(registry->heard <= registry->log, "nothing is invented");
      check_answers(*registry, 2);
    });
  };
}

TEST(CommitterModel, WhoeverFollowsHearsOfEveryVersionAndSeesIt) {
  expect_holds("committer/client, subscriber", followed());
  expect_holds("committer/2 clients, subscriber that skips", skipped());
}

// The stop may come at any moment, also before the request: that ends all the same, at the latest
// with the queue.
template <class Sync = ModelSync>
Scenario stopped(Mistake mistake = Mistake::None) {
  return [=](Model& model) {
    auto registry = std::make_shared<Registry<Sync>>(mistake);
    registry->takes_approvals = false;
    model.thread("client", [=] { registry->post(0, registry->asked[0]); });
    model.thread("committer", [=] { registry->run(); });
    model.thread("supervisor", [=] { registry->stop.set(1); });
    model.finally([=] {
      registry->destroy();
      check_answers(*registry, 1);
    });
  };
}

TEST(CommitterModel, AlwaysSeesTheStop) { expect_holds("committer/client, stop", stopped()); }

TEST(CommitterModel, SeededBugsAreCaught) {
  expect_caught("committer/sees the watch after the queues", two_clients(false, Mistake::SeesLate));
  expect_caught("committer/rings before it sends", two_clients(false, Mistake::RingsFirst));
  expect_caught("committer/forgets what it committed", two_clients(false, Mistake::ForgetsCommits));
  expect_caught("committer/goes on from a batch that failed",
                two_clients(true, Mistake::KeepsFailed));
  expect_caught("committer/leaves what is queued at a stop",
                queued_before_stop(false, Mistake::LeavesAtStop));
  expect_caught("committer/looks for the stop after the queues",
                queued_before_stop(false, Mistake::StopsLate));
  expect_caught("committer/answers before it publishes", told(Mistake::TellsFirst));
  expect_caught("committer/tells who follows before it publishes", skipped(Mistake::PublishesLate));
  expect_caught("committer/deaf to the stop", stopped(Mistake::DeafToStop));
  expect_caught("committer/lost wake-up", [](Model& model) {
    LostWakeSync::lost = false;
    two_clients<LostWakeSync>()(model);
  });
}

}  // namespace
}  // namespace ron::models
