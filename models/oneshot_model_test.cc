// Oneshot under every schedule: a reply is received, handed back or left behind, exactly one of it.
#include <memory>
#include <optional>
#include <utility>

#include <gtest/gtest.h>

#include "expect.h"
#include "explorer.h"
#include "runtime/oneshot_state.h"
#include "seeded.h"
#include "waiting.h"

namespace ron::models {
namespace {

// A reply that knows how many of it there are. Moved-from shells do not count.
class Reply {
 public:
  explicit Reply(int& alive) : alive_(&alive) { ++alive; }
  Reply(Reply&& other) noexcept : alive_(std::exchange(other.alive_, nullptr)) {}
  Reply& operator=(Reply&& other) noexcept {
    std::swap(alive_, other.alive_);
    return *this;
  }
  ~Reply() {
    if (alive_ != nullptr) --*alive_;
  }
  explicit operator bool() const noexcept { return alive_ != nullptr; }

 private:
  int* alive_;
};

template <class Sync>
struct Exchange {
  using State = runtime::OneshotState<Reply, Sync>;
  struct RecvOp {
    using Waiter = typename State::Waiter;
    State& state;
    std::optional<Reply>& out;

    runtime::Poll poll(Waiter& waiter) { return state.poll_recv(out, waiter); }
    void forget(Waiter& waiter) { state.forget(waiter); }
  };

  struct AbandonedOp {
    using Waiter = typename State::Waiter;
    State& state;

    runtime::Poll poll(Waiter& waiter) { return state.poll_abandoned(waiter); }
    void forget(Waiter& waiter) { state.forget_sender(waiter); }
  };

  void send() {
    const std::optional<Reply> back = state->send(Reply(alive));
    sent = !back.has_value();
    if (back) check(receiver_gone && *back, "a whole reply comes back only when nobody waits");
    check(alive == 1, "the reply exists once");
  }
  Waited receive(Patience patience = Patience::Forever) {
    std::optional<Reply> out;
    const Waited waited = wait_for(RecvOp{*state, out}, patience);
    check((waited == Waited::Ready) == (out && *out), "ready brings a whole reply");
    if (waited == Waited::Ready) check(!std::exchange(received, true), "the reply arrives once");
    return waited;
  }
  void leave() {
    state->receiver_gone();
    receiver_gone = true;
  }
  void check_nothing_leaks() {
    check(alive == (sent && !received ? 1 : 0), "only an unread reply is left behind");
    state.reset();
    check(alive == 0, "what is left behind goes with the channel");
  }

  int alive = 0;
  std::optional<State> state{std::in_place};
  bool sent = false;
  bool received = false;
  bool receiver_gone = false;
};

template <class Sync = ModelSync>
Scenario answered() {
  return [](Model& model) {
    auto exchange = std::make_shared<Exchange<Sync>>();
    model.thread("sender", [=] {
      const bool answers = choose(2) == 0;
      if (answers) exchange->send();
      exchange->state->sender_gone();
    });
    model.thread("receiver", [=] {
      const Waited waited = exchange->receive();
      check((waited == Waited::Ready) == exchange->sent, "an answer is seen, and only an answer");
      check(exchange->receive() == Waited::Closed, "there is no second reply");
    });
    model.finally([=] { exchange->check_nothing_leaks(); });
  };
}

TEST(OneshotModel, ReceiverSeesTheReplyOrThatThereIsNone) {
  expect_holds("oneshot/send or sender gone", answered());
}

Scenario abandoned() {
  return [](Model& model) {
    auto exchange = std::make_shared<Exchange<ModelSync>>();
    model.thread("sender", [=] {
      const bool abandoned = exchange->state->abandoned();
      check(abandoned == exchange->receiver_gone, "the sender learns that nobody waits");
      exchange->send();
      check(!abandoned || !exchange->sent, "an abandoned reply comes back");
      exchange->state->sender_gone();
    });
    model.thread("receiver", [=] {
      exchange->receive(Patience::MayGiveUp);
      exchange->leave();
    });
    model.finally([=] { exchange->check_nothing_leaks(); });
  };
}

TEST(OneshotModel, ReceiverMayLeaveAtAnyTime) {
  expect_holds("oneshot/send, receiver gone", abandoned());
}

template <class Sync = ModelSync>
Scenario waits_for_leaving() {
  return [](Model& model) {
    auto exchange = std::make_shared<Exchange<Sync>>();
    model.thread("sender", [=] {
      const Waited waited = wait_for(typename Exchange<Sync>::AbandonedOp{*exchange->state});
      check(waited == Waited::Ready && exchange->state->abandoned(), "the sender hears of it");
      exchange->send();
      check(!exchange->sent, "an abandoned reply comes back");
    });
    model.thread("receiver", [=] {
      exchange->receive(Patience::MayGiveUp);
      exchange->leave();
    });
  };
}

TEST(OneshotModel, AWaitingSenderHearsThatTheReceiverLeft) {
  expect_holds("oneshot/wait for the receiver to leave", waits_for_leaving());
  expect_caught("oneshot/leaving, lost wake-up", [](Model& model) {
    LostWakeSync::lost = false;
    waits_for_leaving<LostWakeSync>()(model);
  });
}

// A sender that looks first and then believes its reply was taken.
template <class Sync = ModelSync>
Scenario look_then_send() {
  return [](Model& model) {
    auto exchange = std::make_shared<Exchange<Sync>>();
    model.thread("sender", [=] {
      if (exchange->state->abandoned()) return;
      exchange->send();
      check(exchange->sent, "a receiver that was there takes the reply");
    });
    model.thread("receiver", [=] {
      exchange->receive(Patience::MayGiveUp);
      exchange->leave();
    });
  };
}

TEST(OneshotModel, SeededBugsAreCaught) {
  expect_caught("oneshot/no lock", answered<OpenSync>());
  expect_caught("oneshot/lost wake-up", [](Model& model) {
    LostWakeSync::lost = false;
    auto exchange = std::make_shared<Exchange<LostWakeSync>>();
    model.thread("sender", [=] { exchange->send(); });
    model.thread("receiver", [=] { exchange->receive(); });
  });
  expect_caught("oneshot/look, then send", look_then_send());
}

}  // namespace
}  // namespace ron::models
