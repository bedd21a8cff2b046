// Oneshot<T>: the reply to one queued job. A sender and a receiver that may live on different
// cores.
#pragma once

#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "runtime/oneshot_core.h"
#include "runtime/waiting.h"

namespace ron::runtime {

// Move-only. Dropping it without sending tells the receiver (Closed).
template <class T>
class OneshotSender {
 public:
  // Sees the value before the receiver does, or nothing when there will be none. On the thread that
  // sends or drops; must not wait.
  using Tap = std::move_only_function<void(const T*)>;

  explicit OneshotSender(std::shared_ptr<OneshotCore<T>> core) noexcept : core_(std::move(core)) {}
  OneshotSender(OneshotSender&&) noexcept = default;
  OneshotSender& operator=(OneshotSender&& other) noexcept {
    drop();
    core_ = std::move(other.core_);
    tap_ = std::move(other.tap_);
    return *this;
  }
  ~OneshotSender() { drop(); }

  // What must be so before the receiver hears of it, and also when the receiver is gone. At most
  // one.
  void before_delivery(Tap tap) noexcept { tap_ = std::move(tap); }

  // Hands the value back when nobody waits any more.
  std::optional<T> send(T value) && {
    auto core = std::move(core_);
    if (tap_) std::exchange(tap_, {})(&value);
    return core->send(std::move(value));
  }
  // The receiver is gone: the work behind this reply is not wanted.
  [[nodiscard]] bool abandoned() const noexcept { return core_->abandoned(); }

  // For a wait: ready once the receiver is gone.
  class AbandonedOp {
   public:
    explicit AbandonedOp(const OneshotSender& sender) noexcept : core_(sender.core_) {}
    Poll poll(platform::Waiter& waiter) { return core_->poll_abandoned(waiter); }
    void forget(platform::Waiter& waiter) noexcept { core_->forget_sender(waiter); }

   private:
    std::shared_ptr<OneshotCore<T>> core_;
  };
  [[nodiscard]] AbandonedOp until_abandoned() const noexcept { return AbandonedOp(*this); }

 private:
  void drop() noexcept {
    if (!core_) return;
    if (tap_) std::exchange(tap_, {})(nullptr);
    core_->sender_gone();
  }
  std::shared_ptr<OneshotCore<T>> core_;
  Tap tap_;
};

// Move-only. Dropping it tells the sender that nobody waits.
template <class T>
class OneshotReceiver {
 public:
  explicit OneshotReceiver(std::shared_ptr<OneshotCore<T>> core) noexcept
      : core_(std::move(core)) {}
  OneshotReceiver(OneshotReceiver&&) noexcept = default;
  OneshotReceiver& operator=(OneshotReceiver&&) = delete;
  ~OneshotReceiver() {
    if (core_) core_->receiver_gone();
  }

  // Closed: the sender went away. Cancel-safe: the value stays until it is received.
  platform::Task<std::expected<T, Waited>> recv(Deadline deadline) {
    std::optional<T> item;
    const Waited waited = co_await wait_for(RecvOp{core_.get(), &item}, deadline);
    if (waited != Waited::Ready) co_return std::unexpected(waited);
    co_return std::move(*item);
  }

 private:
  struct RecvOp {
    OneshotCore<T>* core;
    std::optional<T>* item;
    Poll poll(platform::Waiter& waiter) { return core->poll_recv(*item, waiter); }
    void forget(platform::Waiter& waiter) noexcept { core->forget(waiter); }
  };
  std::shared_ptr<OneshotCore<T>> core_;
};

template <class T>
std::pair<OneshotSender<T>, OneshotReceiver<T>> oneshot() {
  auto core = std::make_shared<OneshotCore<T>>();
  return {OneshotSender<T>(core), OneshotReceiver<T>(core)};
}

}  // namespace ron::runtime
