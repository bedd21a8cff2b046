// PeerWatch: notices that a client left while its answer is being made.
//
// A client may also close its side only because it has nothing more to send, and still wait for the
// answer. TCP does not tell one from the other. Whoever means that does it with the request: a side
// that is closed before all of the request was read, or within kHalfClose after, says no more.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "base/units.h"
#include "http/body.h"
#include "platform/net.h"
#include "platform/task.h"
#include "runtime/background.h"
#include "runtime/deadline.h"
#include "runtime/wait_either.h"

namespace ron::http {

class PeerWatch {
 public:
  static constexpr base::Duration kHalfClose = std::chrono::milliseconds(2);

  // `retiring`: the connection was told to end; whoever sets it interrupts the wire as well.
  PeerWatch(platform::Stream& stream, const bool& retiring) noexcept
      : stream_(stream), retiring_(retiring) {}

  // The head of a request is complete.
  void begin(platform::TimePoint now) noexcept {
    half_closed_ = stream_.peer_gone();
    head_at_ = now;
  }
  // The client has left for good.
  [[nodiscard]] bool left() const noexcept { return stream_.peer_gone() && !half_closed_; }

  enum class Ended : std::uint8_t { Finished, PeerLeft, TimedOut };
  // Waits for `work`, unless the client leaves or the deadline passes before. Until all of `body`
  // was read, its reader sees to the client. Cancel-safe.
  template <class T>
  platform::Task<Ended> wait(runtime::Background<T>* work, const BodyReader* body,
                             runtime::Deadline deadline) {
    using runtime::First;
    while (!half_closed_) {
      const First first = co_await runtime::wait_either(work->finished(),
                                                        runtime::EventOp(stream_.gone()), deadline);
      if (first == First::One) co_return Ended::Finished;
      if (first == First::TimedOut) co_return Ended::TimedOut;
      if (has_left(body)) co_return Ended::PeerLeft;
      half_closed_ = true;
    }
    const runtime::Waited waited = co_await runtime::wait_for(work->finished(), deadline);
    co_return waited == runtime::Waited::TimedOut ? Ended::TimedOut : Ended::Finished;
  }

  // For a wait: ready when the client has left or the connection is to end.
  class LeavingOp {
   public:
    explicit LeavingOp(const PeerWatch& watch) noexcept : watch_(&watch) {}
    runtime::Poll poll(platform::Waiter& waiter) noexcept {
      watch_->stream_.gone().watch(waiter);
      return watch_->left() || watch_->retiring_ ? runtime::Poll::Ready : runtime::Poll::Pending;
    }
    void forget(platform::Waiter& waiter) noexcept { watch_->stream_.gone().forget(waiter); }

   private:
    const PeerWatch* watch_;
  };
  [[nodiscard]] LeavingOp leaving() const noexcept { return LeavingOp(*this); }
  [[nodiscard]] bool retiring() const noexcept { return retiring_; }

 private:
  // The peer's side is closed; what does it mean?
  bool has_left(const BodyReader* body) const noexcept {
    platform::TimePoint read_at = head_at_;
    if (body != nullptr) {
      if (!body->finished()) return false;
      read_at = std::max(read_at, body->finished_at());
    }
    return platform::Executor::current()->now() - read_at >= kHalfClose;
  }

  platform::Stream& stream_;
  const bool& retiring_;
  platform::TimePoint head_at_{};
  bool half_closed_ = false;
};

}  // namespace ron::http
