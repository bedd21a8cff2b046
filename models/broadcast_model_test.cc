// Broadcast under every schedule: each receiver accounts for every value, as seen or as missed.
#include <memory>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "expect.h"
#include "explorer.h"
#include "runtime/broadcast_state.h"
#include "seeded.h"
#include "waiting.h"

namespace ron::models {
namespace {

// Values are 0, 1, 2… so that a receiver's cursor says which one must come next.
template <class Sync>
struct Stream {
  using State = runtime::BroadcastState<std::uint64_t, Sync>;
  struct RecvOp {
    using Waiter = typename State::Waiter;
    State& state;
    typename State::Cursor& cursor;
    std::optional<std::uint64_t>& out;
    runtime::Lagged& lagged;

    runtime::Poll poll(Waiter& waiter) { return state.poll_recv(cursor, out, lagged, waiter); }
    void forget(Waiter& waiter) { state.forget(waiter); }
  };

  explicit Stream(std::size_t capacity) : state(capacity) {}

  void send(std::uint64_t count) {
    for (std::uint64_t value = 0; value < count; ++value) {
      check(state.send(value), "an open stream accepts");
      ++sent;
    }
    state.close();
  }
  // Follows the stream to its end, or gives up; returns how it ended.
  Waited follow(typename State::Cursor cursor, Patience patience = Patience::Forever) {
    std::uint64_t expected = cursor.next;
    std::optional<std::uint64_t> out;
    runtime::Lagged lagged;
    Wait wait(RecvOp{state, cursor, out, lagged});
    for (;;) {
      out.reset();
      lagged = {};
      const Waited waited = wait(patience);
      if (waited == Waited::Closed) check(expected == sent, "every value is seen or missed");
      if (waited != Waited::Ready) return waited;
      check(out.has_value() != (lagged.missed > 0), "a value or a lag, never both");
      if (out) check(*out == expected, "values come in order, none twice");
      expected += out ? 1 : lagged.missed;
      missed += lagged.missed;
      check(expected <= sent, "nothing is invented");
      check(!lagged.missed || expected + state.capacity() >= sent,
            "no more is missed than must be");
    }
  }

  State state;
  std::uint64_t sent = 0;
  std::uint64_t missed = 0;
};

template <class Sync = ModelSync>
Scenario followers(std::size_t capacity, std::uint64_t values, int receivers) {
  return [=](Model& model) {
    auto stream = std::make_shared<Stream<Sync>>(capacity);
    for (int i = 0; i < receivers; ++i) {
      const auto cursor = stream->state.subscribe();
      model.thread("receiver " + std::to_string(i), [=] {
        check(stream->follow(cursor) == Waited::Closed, "the receiver learns of the end");
      });
    }
    model.thread("sender", [=] { stream->send(values); });
    model.finally([=] {
      check(stream->state.lagged() == stream->missed, "lag is counted");
      check(!stream->state.send(values), "a closed stream refuses");
    });
  };
}

TEST(BroadcastModel, ReceiversAccountForEveryValue) {
  expect_holds("broadcast/1 receiver, capacity 1, 4 values", followers(1, 4, 1));
  expect_holds("broadcast/1 receiver, capacity 2, 4 values", followers(2, 4, 1));
  expect_holds("broadcast/2 receivers, capacity 1, 2 values", followers(1, 2, 2));
  expect_holds("broadcast/2 receivers, capacity 2, 2 values", followers(2, 2, 2));
}

TEST(BroadcastModel, LateSubscriberStartsAtTheNextValue) {
  expect_holds("broadcast/late subscriber", [](Model& model) {
    auto stream = std::make_shared<Stream<ModelSync>>(2);
    model.thread("late", [=] {
      const auto cursor = stream->state.subscribe();
      check(cursor.next == stream->sent, "nothing sent before is expected");
      stream->follow(cursor);
    });
    model.thread("sender", [=] { stream->send(3); });
  });
}

TEST(BroadcastModel, GivingUpDisturbsNobody) {
  expect_holds("broadcast/2 receivers, one aborted", [](Model& model) {
    auto stream = std::make_shared<Stream<ModelSync>>(1);
    const auto start = stream->state.subscribe();
    model.thread("impatient", [=] { stream->follow(start, Patience::MayGiveUp); });
    model.thread("patient", [=] {
      check(stream->follow(start) == Waited::Closed, "the receiver learns of the end");
    });
    model.thread("sender", [=] { stream->send(2); });
  });
}

TEST(BroadcastModel, SeededBugsAreCaught) {
  expect_caught("broadcast/no lock", followers<OpenSync>(1, 1, 1));
  expect_caught("broadcast/lost wake-up", [](Model& model) {
    LostWakeSync::lost = false;
    // The last wake-up is the one of close(): a later one would make up for it.
    followers<LostWakeSync>(1, 0, 2)(model);
  });
}

}  // namespace
}  // namespace ron::models
