// ClientLink: one connection of ours to an upstream, and every way of waiting on it.
//
// One executor; one task uses it at a time. Waiting is bounded by a moment the caller names.
// cancel() may be called by the pool while that task waits: it wakes with Canceled.
#pragma once

#include <cstdint>
#include <memory>

#include "http/wire.h"
#include "platform/net.h"
#include "platform/task.h"
#include "platform/wait.h"

namespace ron::http {

// Waits until one of two events of this executor is set or nudged. Cancel-safe.
class EitherEvent {
 public:
  EitherEvent(platform::Event& first, platform::Event& second) noexcept
      : first_(first.wait()), second_(second.wait()) {}

  bool await_ready() const noexcept { return first_.await_ready() || second_.await_ready(); }
  void await_suspend(std::coroutine_handle<> frame) noexcept {
    first_.await_suspend(frame);
    second_.await_suspend(frame);
  }
  void await_resume() const noexcept {}

 private:
  using Wait = decltype(std::declval<platform::Event&>().wait());
  Wait first_;
  Wait second_;
};

enum class LinkEnd : std::uint8_t {
  None,      // what was waited for happened
  Eof,       // the upstream ended its side
  Failed,    // reset, refused, unreachable: error() says which
  TimedOut,  // the moment came first
  Canceled,  // cancel() was called
};

class ClientLink {
 public:
  ClientLink(std::unique_ptr<platform::Stream> stream, BufferPool& buffers)
      : wire_(std::move(stream), buffers) {}
  ClientLink(const ClientLink&) = delete;
  ClientLink& operator=(const ClientLink&) = delete;

  [[nodiscard]] Wire& wire() noexcept { return wire_; }
  [[nodiscard]] platform::Stream& stream() noexcept { return wire_.stream(); }
  // The errno behind the last Failed.
  [[nodiscard]] int error() const noexcept { return error_; }

  // Waits for the handshake. Cancel-safe.
  platform::Task<LinkEnd> establish(platform::TimePoint until);
  // Adds at least one byte to wire().pending(). Cancel-safe.
  platform::Task<LinkEnd> fill(platform::TimePoint until);
  // Adds what has arrived already to wire().pending(). None also when that is nothing.
  LinkEnd poll() noexcept;
  // Reads what has arrived into the caller's memory, past wire().pending(), which must be empty.
  // None also when that is nothing: `bytes` is 0 then.
  LinkEnd try_read(base::MutableBytes into, std::size_t& bytes) noexcept;
  // Until poll() or try_read() may bring something. Before every read, also when it need not wait:
  // it keeps to the deadline and gives way to the core's others. Cancel-safe.
  platform::Task<LinkEnd> wait_readable(platform::TimePoint until);

  // An idle connection that can carry another request: nothing arrived, nobody hung up.
  [[nodiscard]] bool fresh() noexcept;

  void cancel() noexcept {
    canceled_ = true;
    wire_.stream().abort();
  }
  [[nodiscard]] bool canceled() const noexcept { return canceled_; }

  // For the pool: membership in its list of links in use, and whether the link was idle before.
  ClientLink* previous = nullptr;
  ClientLink* next = nullptr;
  bool reused = false;
  platform::TimePoint idle_since{};

 private:
  LinkEnd ended(const platform::IoResult& result) noexcept;

  Wire wire_;
  int error_ = 0;
  bool canceled_ = false;
};

}  // namespace ron::http
