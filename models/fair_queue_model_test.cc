// A ticket of the gateway's fair queue under every schedule, over the primitives it is made of:
// asked for while a turn is held, granted, given up and dropped at a stop. spin/drr.pml has the
// whole queue in larger steps; here are the channels and wake-ups themselves.
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "expect.h"
#include "explorer.h"
#include "runtime/mpsc_state.h"
#include "runtime/oneshot_state.h"
#include "runtime/watch_state.h"
#include "seeded.h"
#include "waiting.h"

namespace ron::models {
namespace {

// What FairQueue shares between cores: a slot, who waits, and the watch that wakes the scheduler.
// Atomics of the code are plain here: a step ends at the next lock or point().
template <class Sync>
struct Shared {
  runtime::WatchState<int, Sync> demand{0};
  int slots = 0;  // free ones; the holder has the only one
  int waiting = 0;
  bool rings_first = false;  // the seeded mistake of FairQueue::ended()

  void ring() { demand.set(0); }
  void end_turn() {
    point();
    const bool waits_already = waiting > 0;
    if (rings_first) point();
    ++slots;
    check(slots == 1, "a slot is given back once");
    if (!rings_first) point();
    if (rings_first ? waits_already : waiting > 0) ring();
  }
};

// A right that ends when it is dropped, wherever that is.
template <class Sync>
class Turn {
 public:
  explicit Turn(Shared<Sync>& shared) noexcept : shared_(&shared) {}
  Turn(Turn&& other) noexcept : shared_(std::exchange(other.shared_, nullptr)) {}
  Turn& operator=(Turn&&) = delete;
  ~Turn() {
    if (shared_ != nullptr) shared_->end_turn();
  }

 private:
  Shared<Sync>* shared_;
};

template <class Sync>
struct Queue {
  using Reply = runtime::OneshotState<Turn<Sync>, Sync>;
  // The sender's half; dropped, its owner is told.
  class Ticket {
   public:
    explicit Ticket(std::shared_ptr<Reply> reply) noexcept : reply_(std::move(reply)) {}
    Ticket(Ticket&& other) noexcept = default;
    Ticket& operator=(Ticket&&) = delete;
    ~Ticket() {
      if (reply_ != nullptr) reply_->sender_gone();
    }
    [[nodiscard]] bool abandoned() const { return reply_->abandoned(); }
    void grant(Turn<Sync> turn) && {
      const std::shared_ptr<Reply> reply = std::move(reply_);
      const std::optional<Turn<Sync>> handed_back = reply->send(std::move(turn));
    }

   private:
    std::shared_ptr<Reply> reply_;
  };
  using Work = runtime::MpscState<Ticket, Sync>;

  Shared<Sync> shared;
  Work work{2, runtime::Overflow::RejectNew};
  runtime::WatchState<bool, Sync> stop{false};
  std::optional<Ticket> line;  // the scheduler's
  bool may_leave = true;       // its client
  int turns = 0;
  int refused = 0;
  int dropped = 0;
  int gave_up = 0;

  // FairQueue::take().
  void take(Patience patience) {
    point();
    ++shared.waiting;
    auto reply = std::make_shared<Reply>();
    if (!work.try_send(Ticket(reply))) {
      ++refused;
    } else {
      shared.ring();
      std::optional<Turn<Sync>> turn;
      const Waited waited = wait_for(RecvOneshot{*reply, turn}, patience);
      turns += waited == Waited::Ready ? 1 : 0;
      dropped += waited == Waited::Closed ? 1 : 0;
      gave_up += waited == Waited::GaveUp ? 1 : 0;
      // Nobody looks any more at a reply that was received.
      if (waited != Waited::Ready) reply->receiver_gone();
      reply.reset();
    }
    --shared.waiting;
  }

  // FairQueue::schedule() without its workers: until `tickets` were dealt with, or the stop.
  void schedule(int tickets) {
    while (tickets > 0) {
      const auto seen = shared.demand.get().version;
      if (!line) take_in();
      if (line && shared.slots > 0) {
        --shared.slots;
        Ticket ticket = *std::exchange(line, std::nullopt);
        if (may_leave && ticket.abandoned()) {
          ++shared.slots;
        } else {
          std::move(ticket).grant(Turn<Sync>(shared));
        }
        --tickets;
        continue;
      }
      using Changed = ChangedOp<runtime::WatchState<int, Sync>>;
      using Stop = ChangedOp<runtime::WatchState<bool, Sync>>;
      if (wait_for(Changed{shared.demand, seen}, Stop{stop}) == Waited::Stopped) return close();
    }
  }
  void take_in() {
    std::optional<Ticket> ticket;
    if (work.try_recv(ticket) == runtime::Poll::Ready) line.emplace(std::move(*ticket));
  }
  void close() {
    work.close();
    line.reset();
    for (take_in(); line; take_in()) line.reset();
  }

  struct RecvOneshot {
    using Waiter = typename Reply::Waiter;
    Reply& state;
    std::optional<Turn<Sync>>& out;
    runtime::Poll poll(Waiter& waiter) { return state.poll_recv(out, waiter); }
    void forget(Waiter& waiter) { state.forget(waiter); }
  };
};

template <class Sync = ModelSync>
Scenario ticket(bool rings_first = false) {
  return [=](Model& model) {
    auto queue = std::make_shared<Queue<Sync>>();
    queue->shared.rings_first = rings_first;
    queue->may_leave = false;
    model.thread("client", [=] { queue->take(Patience::Forever); });
    model.thread("holder", [=] { queue->shared.end_turn(); });
    model.thread("scheduler", [=] { queue->schedule(1); });
    model.finally([=] {
      check(queue->turns == 1, "the ticket ends once");
      check(queue->shared.slots == 1, "the slot is free again");
      check(queue->shared.waiting == 0, "nobody is counted any more");
    });
  };
}

TEST(FairQueueModel, ATurnThatEndsIsHandedToWhoeverWaits) {
  expect_holds("fair queue/ticket while a turn is held", ticket());
}

// While it is granted, too: then the turn ends with the reply. If it left before, its ticket lies
// in line until the scheduler looks next, which is here when it stops.
TEST(FairQueueModel, AClientMayLeaveAtAnyMoment) {
  expect_holds("fair queue/client leaves", [](Model& model) {
    auto queue = std::make_shared<Queue<ModelSync>>();
    queue->shared.slots = 1;
    model.thread("client", [=] {
      queue->take(Patience::MayGiveUp);
      queue->stop.set(true);
    });
    model.thread("scheduler", [=] { queue->schedule(1); });
    model.finally([=] {
      check(queue->turns + queue->gave_up == 1, "the ticket ends once");
      check(queue->shared.slots == 1, "the slot is free again");
      check(queue->work.depth() == 0 && !queue->line, "nothing is left");
    });
  });
}

// The turn is held for ever: only the stop ends the wait.
TEST(FairQueueModel, AStopAnswersWhoeverWaits) {
  expect_holds("fair queue/stop", [](Model& model) {
    auto queue = std::make_shared<Queue<ModelSync>>();
    model.thread("client", [=] { queue->take(Patience::Forever); });
    model.thread("scheduler", [=] { queue->schedule(1); });
    model.thread("supervisor", [=] { queue->stop.set(true); });
    model.finally([=] {
      check(queue->dropped + queue->refused == 1, "the ticket ends once");
      check(queue->work.depth() == 0, "nothing is left");
    });
  });
}

TEST(FairQueueModel, SeededBugsAreCaught) {
  expect_caught("fair queue/looks for waiters before the slot is free", ticket(true));
  expect_caught("fair queue/lost wake-up", [](Model& model) {
    LostWakeSync::lost = false;
    ticket<LostWakeSync>()(model);
  });
}

}  // namespace
}  // namespace ron::models
