// The bounded queue under every schedule: nothing lost, nothing twice, in order, nobody stuck.
#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "expect.h"
#include "explorer.h"
#include "runtime/mpsc_state.h"
#include "seeded.h"
#include "waiting.h"

namespace ron::models {
namespace {

using runtime::Overflow;

struct Item {
  int producer = 0;
  int number = 0;
  bool operator==(const Item&) const = default;
};
using Kind = runtime::SendError<Item>::Kind;

// A queue and what was observed of it. The logs are written in the same step as the operation they
// record, so their order is the order in which the operations took effect.
template <class Sync>
struct Queue {
  using State = runtime::MpscState<Item, Sync>;

  Queue(std::size_t capacity, Overflow overflow, std::size_t lanes = 1)
      : state(capacity, overflow, lanes) {}

  // One producer's items, each waiting for room, until the queue closes.
  void send_all(int producer, int items, std::size_t lane = 0) {
    Item item;
    Wait wait(SendOp{state, item, lane});
    for (int number = 0; number < items; ++number) {
      item = {producer, number};
      const Waited waited = wait();
      check(waited != Waited::Closed || item == Item{producer, number},
            "a refused value stays with its sender");
      if (waited == Waited::Closed) return;
      record_sent({producer, number});
    }
  }
  void try_send_all(int producer, int items) {
    for (int number = 0; number < items; ++number) {
      const auto answer = state.try_send({producer, number});
      if (answer) {
        record_sent({producer, number});
        continue;
      }
      check(answer.error().value == Item{producer, number}, "a refused value comes back");
      check((answer.error().kind == Kind::Closed) == closed, "Full is told from Closed");
      ++refused;
    }
  }
  // Up to `most` items, or all until the queue closes.
  Waited receive(int most, std::size_t lane = 0) {
    std::optional<Item> out;
    Wait wait(RecvOp{state, out, lane});
    for (int i = 0; i < most; ++i) {
      const Waited waited = wait();
      if (waited != Waited::Ready) return waited;
      record_received(*out);
    }
    return Waited::Ready;
  }
  void close() {
    state.close();
    closed = true;
  }
  // The last of `producers` to get here closes.
  void producer_done(int producers) {
    if (++done == producers) close();
  }

  void record_sent(Item item) {
    check(!closed, "nothing is accepted after close");
    check_depth();
    sent.push_back(item);
  }
  void record_received(Item item) {
    check_depth();
    received.push_back(item);
  }
  void check_depth() { check(state.depth() <= state.capacity(), "the depth stays within bounds"); }

  // Exactly once and in order: what each producer sent is what was received from it.
  void check_all_delivered() const {
    for (const int producer : {0, 1}) {
      check(of(sent, producer) == of(received, producer), "accepted items arrive once, in order");
    }
  }
  static std::vector<int> of(const std::vector<Item>& items, int producer) {
    std::vector<int> numbers;
    for (const Item& item : items) {
      if (item.producer == producer) numbers.push_back(item.number);
    }
    return numbers;
  }

  State state;
  std::vector<Item> sent;
  std::vector<Item> received;
  int refused = 0;
  int done = 0;
  bool closed = false;
};

constexpr int kAll = 100;

template <class Sync = ModelSync>
Scenario waiting_producers(std::size_t capacity, int items, bool close_any_time) {
  return [=](Model& model) {
    auto queue = std::make_shared<Queue<Sync>>(capacity, Overflow::Wait);
    for (const int producer : {0, 1}) {
      model.thread("producer " + std::to_string(producer), [=] {
        queue->send_all(producer, items);
        if (!close_any_time) queue->producer_done(2);
      });
    }
    model.thread("receiver", [=] {
      check(queue->receive(kAll) == Waited::Closed, "the receiver learns of the end");
    });
    if (close_any_time) model.thread("closer", [=] { queue->close(); });
    model.finally([=] {
      queue->check_all_delivered();
      check(close_any_time || queue->sent.size() == static_cast<std::size_t>(2 * items),
            "nothing is refused before close");
    });
  };
}

TEST(MpscModel, WaitingProducersAreAllServed) {
  expect_holds("mpsc/2 waiting producers, capacity 1", waiting_producers(1, 2, false));
  expect_holds("mpsc/2 waiting producers, capacity 2", waiting_producers(2, 2, false));
}

TEST(MpscModel, CloseAtAnyTimeLosesNothingAccepted) {
  expect_holds("mpsc/2 waiting producers, capacity 1, close", waiting_producers(1, 1, true));
  expect_holds("mpsc/2 waiting producers, capacity 2, close", waiting_producers(2, 1, true));
}

TEST(MpscModel, ReceiversShareTheWork) {
  expect_holds("mpsc/2 producers, 2 receivers, capacity 1", [](Model& model) {
    auto queue = std::make_shared<Queue<ModelSync>>(1, Overflow::RejectNew);
    for (const int id : {0, 1}) {
      model.thread("producer " + std::to_string(id), [=] {
        queue->try_send_all(id, 1);
        queue->producer_done(2);
      });
      model.thread("receiver " + std::to_string(id), [=] {
        check(queue->receive(kAll) == Waited::Closed, "every receiver learns of the end");
      });
    }
    model.finally([=] { queue->check_all_delivered(); });
  });
}

// Nobody comes back for a second item and nobody closes: each item must wake somebody.
TEST(MpscModel, EachItemWakesAReceiver) {
  expect_holds("mpsc/2 items, 2 receivers of one each", [](Model& model) {
    auto queue = std::make_shared<Queue<ModelSync>>(2, Overflow::RejectNew);
    model.thread("producer", [=] { queue->try_send_all(0, 2); });
    for (const char* name : {"first receiver", "second receiver"}) {
      model.thread(name, [=] { queue->receive(1); });
    }
    model.finally([=] { check(queue->received == queue->sent, "items arrive once, in order"); });
  });
}

TEST(MpscModel, CloseReleasesEveryWaitingSender) {
  expect_holds("mpsc/2 senders wait for room, close", [](Model& model) {
    auto queue = std::make_shared<Queue<ModelSync>>(1, Overflow::Wait);
    for (const int producer : {0, 1}) {
      model.thread("producer " + std::to_string(producer), [=] { queue->send_all(producer, 2); });
    }
    model.thread("closer", [=] { queue->close(); });
    model.finally([=] {
      queue->receive(kAll);
      queue->check_all_delivered();
    });
  });
}

Scenario rejecting(std::size_t capacity, int items, bool close_any_time) {
  return [=](Model& model) {
    auto queue = std::make_shared<Queue<ModelSync>>(capacity, Overflow::RejectNew);
    for (const int producer : {0, 1}) {
      model.thread("producer " + std::to_string(producer), [=] {
        queue->try_send_all(producer, items);
        if (!close_any_time) queue->producer_done(2);
      });
    }
    model.thread("receiver", [=] { queue->receive(kAll); });
    if (close_any_time) model.thread("closer", [=] { queue->close(); });
    model.finally([=] {
      queue->check_all_delivered();
      check(queue->refused + static_cast<int>(queue->sent.size()) == 2 * items,
            "every send has one answer");
    });
  };
}

TEST(MpscModel, RejectNewHandsBackWhatDoesNotFit) {
  expect_holds("mpsc/reject-new, capacity 1", rejecting(1, 2, false));
  expect_holds("mpsc/reject-new, capacity 2", rejecting(2, 2, false));
  expect_holds("mpsc/reject-new, capacity 1, close", rejecting(1, 2, true));
}

Scenario dropping_oldest(std::size_t capacity) {
  return [=](Model& model) {
    auto queue = std::make_shared<Queue<ModelSync>>(capacity, Overflow::DropOldest);
    for (const int producer : {0, 1}) {
      model.thread("producer " + std::to_string(producer), [=] {
        queue->try_send_all(producer, 2);
        queue->producer_done(2);
      });
    }
    model.thread("receiver", [=] { queue->receive(kAll); });
    model.finally([=] {
      check(queue->refused == 0, "there is always room for the newest");
      auto from = queue->sent.begin();
      for (const Item& item : queue->received) {
        from = std::find(from, queue->sent.end(), item);
        check(from != queue->sent.end(), "what arrives was accepted, arrives once and in order");
        ++from;
      }
      check(queue->received.size() >= capacity, "at most the overflow is dropped");
      check(std::equal(queue->sent.end() - static_cast<std::ptrdiff_t>(capacity), queue->sent.end(),
                       queue->received.end() - static_cast<std::ptrdiff_t>(capacity)),
            "the newest items are kept");
    });
  };
}

TEST(MpscModel, DropOldestKeepsTheNewest) {
  expect_holds("mpsc/drop-oldest, capacity 1", dropping_oldest(1));
  expect_holds("mpsc/drop-oldest, capacity 2", dropping_oldest(2));
}

TEST(MpscModel, ReceiverThatGivesUpLeavesTheItemOrTakesIt) {
  expect_holds("mpsc/receiver gives up, then tries", [](Model& model) {
    auto queue = std::make_shared<Queue<ModelSync>>(1, Overflow::Wait);
    for (const int producer : {0, 1}) {
      model.thread("producer " + std::to_string(producer), [=] { queue->send_all(producer, 1); });
    }
    model.thread("receiver", [=] {
      std::optional<Item> out;
      const Waited waited = wait_for(RecvOp{queue->state, out, 0}, Patience::MayGiveUp);
      check((waited == Waited::Ready) == out.has_value(), "a given up receive consumed nothing");
      if (!out) queue->state.try_recv(out);
      if (out) queue->record_received(*out);
      queue->receive(out ? 1 : 2);
    });
    model.finally([=] { queue->check_all_delivered(); });
  });
}

// The impatient receiver may be woken for the only item and leave without it. If it takes the item
// it closes the queue; otherwise nobody but the item's wake-up can get the patient one going.
template <class Sync = ModelSync>
Scenario impatient_receiver() {
  return [](Model& model) {
    auto queue = std::make_shared<Queue<Sync>>(1, Overflow::Wait);
    model.thread("impatient", [=] {
      std::optional<Item> out;
      const Waited waited = wait_for(RecvOp{queue->state, out, 0}, Patience::MayGiveUp);
      if (waited != Waited::Ready) return;
      queue->record_received(*out);
      queue->close();
    });
    model.thread("patient", [=] { queue->receive(1); });
    model.thread("producer", [=] {
      if (queue->state.try_send({0, 0})) queue->record_sent({0, 0});
    });
    model.finally([=] { queue->check_all_delivered(); });
  };
}

TEST(MpscModel, WakeUpOfAnAbortedReceiverIsPassedOn) {
  expect_holds("mpsc/2 receivers on one lane, one aborted", impatient_receiver());
}

// The same among senders: two wait for the one place, one of them leaves when it likes.
template <class Sync = ModelSync>
Scenario impatient_sender() {
  return [](Model& model) {
    auto queue = std::make_shared<Queue<Sync>>(1, Overflow::Wait);
    model.thread("receiver", [=] { queue->receive(2); });
    model.thread("impatient", [=] {
      Item item{0, 0};
      const Waited waited = wait_for(SendOp{queue->state, item, 0}, Patience::MayGiveUp);
      if (waited == Waited::Ready) queue->record_sent({0, 0});
    });
    model.thread("patient", [=] { queue->send_all(1, 2); });
    model.finally([=] {
      std::optional<Item> left;
      queue->state.try_recv(left);
      if (left) queue->record_received(*left);
      queue->check_all_delivered();
    });
  };
}

TEST(MpscModel, WakeUpOfAnAbortedSenderIsPassedOn) {
  expect_holds("mpsc/2 waiting senders, one aborted", impatient_sender());
}

Scenario two_lanes(std::size_t capacity, std::array<int, 2> items) {
  return [=](Model& model) {
    auto queue = std::make_shared<Queue<ModelSync>>(capacity, Overflow::Wait, 2);
    for (const int lane : {0, 1}) {
      const auto at = static_cast<std::size_t>(lane);
      model.thread("producer " + std::to_string(lane),
                   [=] { queue->send_all(lane, items[at], at); });
      model.thread("receiver " + std::to_string(lane), [=] { queue->receive(items[at], at); });
    }
    model.finally([=] { queue->check_all_delivered(); });
  };
}

TEST(MpscModel, LanesShareTheCapacityWithoutStarvingEachOther) {
  expect_holds("mpsc/2 lanes, capacity 1", two_lanes(1, {1, 1}));
  expect_holds("mpsc/2 lanes, capacity 1, 2 items on one", two_lanes(1, {2, 1}));
  expect_holds("mpsc/2 lanes, capacity 2", two_lanes(2, {1, 1}));
}

// The place is taken by lane 0; both lanes' senders wait for it, and lane 0's may leave.
TEST(MpscModel, RoomIsOfferedAcrossLanes) {
  expect_holds("mpsc/2 lanes, capacity 1, one sender aborted", [](Model& model) {
    auto queue = std::make_shared<Queue<ModelSync>>(1, Overflow::Wait, 2);
    Item first{0, 0};
    Parker parker;
    Waiter waiter(parker);
    queue->state.poll_send(first, waiter, 0);
    queue->record_sent({0, 0});
    model.thread("impatient, lane 0", [=] {
      Item item{0, 1};
      const Waited waited = wait_for(SendOp{queue->state, item, 0}, Patience::MayGiveUp);
      if (waited != Waited::Ready) return;
      queue->record_sent({0, 1});
      queue->receive(1, 0);
    });
    model.thread("receiver, lane 0", [=] { queue->receive(1, 0); });
    model.thread("producer, lane 1", [=] { queue->send_all(1, 1, 1); });
    model.thread("receiver, lane 1", [=] { queue->receive(1, 1); });
    model.finally([=] { queue->check_all_delivered(); });
  });
}

TEST(MpscModel, SeededBugsAreCaught) {
  expect_caught("mpsc/no lock", waiting_producers<OpenSync>(1, 1, false));
  expect_caught("mpsc/lost wake-up", [](Model& model) {
    LostWakeSync::lost = false;
    waiting_producers<LostWakeSync>(1, 1, false)(model);
  });
  expect_caught("mpsc/aborted receiver keeps its wake-up", impatient_receiver<KeptWakeSync>());
  expect_caught("mpsc/aborted sender keeps its wake-up", impatient_sender<KeptWakeSync>());
}

}  // namespace
}  // namespace ron::models
