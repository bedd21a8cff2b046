// Oneshot<T>: the reply to one queued job. A sender and a receiver that may live on different
// cores.
#pragma once

#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "runtime/oneshot_state.h"
#include "runtime/waiting.h"

namespace ron::runtime {

// Move-only. Dropping it without sending tells the receiver (Closed).
template <class T>
class OneshotSender {
 public:
  // Sees the value before the receiver does, or nothing when there will be none. On the thread that
  // sends or drops; must not wait.
  using Tap = std::move_only_function<void(const T*)>;

  explicit OneshotSender(std::shared_ptr<OneshotState<T>> state) noexcept
      : state_(std::move(state)) {}
  OneshotSender(OneshotSender&&) noexcept = default;
  OneshotSender& operator=(OneshotSender&& other) noexcept {
    drop();
    state_ = std::move(other.state_);
    tap_ = std::move(other.tap_);
    return *this;
  }
  ~OneshotSender() { drop(); }

  // What must be so before the receiver hears of it, and also when the receiver is gone. At most
  // one.
  void before_delivery(Tap tap) noexcept { tap_ = std::move(tap); }

  // Hands the value back when nobody waits any more.
  std::optional<T> send(T value) && {
    auto state = std::move(state_);
    if (tap_) std::exchange(tap_, {})(&value);
    return state->send(std::move(value));
  }
  // The receiver is gone: the work behind this reply is not wanted.
  [[nodiscard]] bool abandoned() const noexcept { return state_->abandoned(); }

  // For a wait: ready once the receiver is gone.
  class AbandonedOp {
   public:
    explicit AbandonedOp(const OneshotSender& sender) noexcept : state_(sender.state_) {}
    Poll poll(platform::Waiter& waiter) { return state_->poll_abandoned(waiter); }
    void forget(platform::Waiter& waiter) noexcept { state_->forget_sender(waiter); }

   private:
    std::shared_ptr<OneshotState<T>> state_;
  };
  [[nodiscard]] AbandonedOp until_abandoned() const noexcept { return AbandonedOp(*this); }

 private:
  void drop() noexcept {
    if (!state_) return;
    if (tap_) std::exchange(tap_, {})(nullptr);
    state_->sender_gone();
  }
  std::shared_ptr<OneshotState<T>> state_;
  Tap tap_;
};

// Move-only. Dropping it tells the sender that nobody waits.
template <class T>
class OneshotReceiver {
 public:
  explicit OneshotReceiver(std::shared_ptr<OneshotState<T>> state) noexcept
      : state_(std::move(state)) {}
  OneshotReceiver(OneshotReceiver&&) noexcept = default;
  OneshotReceiver& operator=(OneshotReceiver&&) = delete;
  ~OneshotReceiver() {
    if (state_) state_->receiver_gone();
  }

  // Closed: the sender went away. Cancel-safe: the value stays until it is received.
  platform::Task<std::expected<T, Waited>> recv(Deadline deadline) {
    std::optional<T> item;
    const Waited waited = co_await wait_for(RecvOp{state_.get(), &item}, deadline);
    if (waited != Waited::Ready) co_return std::unexpected(waited);
    co_return std::move(*item);
  }

 private:
  struct RecvOp {
    OneshotState<T>* state;
    std::optional<T>* item;
    Poll poll(platform::Waiter& waiter) { return state->poll_recv(*item, waiter); }
    void forget(platform::Waiter& waiter) noexcept { state->forget(waiter); }
  };
  std::shared_ptr<OneshotState<T>> state_;
};

template <class T>
std::pair<OneshotSender<T>, OneshotReceiver<T>> oneshot() {
  auto state = std::make_shared<OneshotState<T>>();
  return {OneshotSender<T>(state), OneshotReceiver<T>(state)};
}

}  // namespace ron::runtime
