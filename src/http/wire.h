// Wire: a connection's bytes in and out, under one watchdog.
//
// Owns the stream, the read buffer (only while there is something in it) and the single timer that
// guards whatever the connection is waiting for: the next request (idle), a head or body (read),
// the peer taking bytes (write). One executor; one reader and one writer, which are the same task.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "base/bytes.h"
#include "base/limits.h"
#include "base/units.h"
#include "http/pool.h"
#include "platform/net.h"
#include "platform/task.h"
#include "platform/wait.h"

namespace ron::http {

// Where arriving bytes are kept. Connections hold one only between the first byte of a request and
// its end.
struct ReadBuffer {
  static constexpr std::size_t kBytes = base::limits::kHeadBytes;
  std::array<std::byte, kBytes> bytes;
};
using BufferPool = Pool<ReadBuffer>;

// Why a wait on the wire ended without success.
enum class WireEnd : std::uint8_t { None, Closed, TimedOut, Interrupted };

class Wire : private platform::Timer {
 public:
  // What counts as progress: less than this per timeout is a peer that dribbles, in or out.
  static constexpr std::size_t kProgressBytes = 4 * base::kKiB;
  // A connection that finds work without ever waiting lets its core's others have their turn after
  // this much, and a request counts as so much besides its bytes.
  static constexpr std::size_t kTurnBytes = base::kMiB;
  static constexpr std::size_t kRequestBytes = 64 * base::kKiB;

  Wire(std::unique_ptr<platform::Stream> stream, BufferPool& pool);
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;
  ~Wire();

  [[nodiscard]] platform::Stream& stream() noexcept { return *stream_; }

  // Bytes received and not consumed yet.
  [[nodiscard]] std::string_view pending() const noexcept {
    if (!buffer_) return {};
    return {reinterpret_cast<const char*>(buffer_->bytes.data()) + begin_, end_ - begin_};
  }
  void consume(std::size_t bytes) noexcept { begin_ += bytes; }
  // Hands the buffer over and goes on with a copy of what is pending: views into it stay valid.
  std::unique_ptr<ReadBuffer> detach();
  // Gives the buffer back when it is empty.
  void release_if_empty() noexcept;

  // What was done since the wire last waited, in bytes. Once the turn is over, await give_way().
  void spend(std::size_t bytes) noexcept { spent_ += bytes; }
  [[nodiscard]] bool turn_is_over() const noexcept { return spent_ >= kTurnBytes; }
  platform::Yield give_way() noexcept {
    spent_ = 0;
    return platform::Yield();
  }

  // Watchdog: what is waited for must happen before `at`. Cheap: the timer itself is moved rarely.
  void watch(platform::TimePoint at) noexcept;
  void watch_in(base::Duration timeout, platform::TimePoint latest = platform::kNever) noexcept;
  void unwatch() noexcept { guard_at_ = platform::kNever; }

  // Tries to add bytes to pending() without waiting. WouldBlock, Eof and Failed as of the stream; a
  // full buffer is an error of the caller.
  platform::IoResult try_fill() noexcept;
  // Waits for bytes and adds them. None on success. Interrupted: interrupt() was called.
  // Cancel-safe.
  platform::Task<WireEnd> fill();
  // Fills `into` completely, from pending bytes first. A peer that brings less than kProgressBytes
  // per `timeout`, or not everything by `latest`, is TimedOut. Cancel-safe.
  platform::Task<WireEnd> read_exactly(base::MutableBytes into, base::Duration timeout,
                                       platform::TimePoint latest = platform::kNever);

  // What leaves in one gathered write: a head, a chunk's size, its bytes and its end at the most.
  using Spans = std::array<base::ByteView, 4>;
  // Writes all spans. A peer that takes less than kProgressBytes per `timeout` is TimedOut.
  platform::Task<WireEnd> write(Spans spans, base::Duration timeout);
  // The part of write() that needs no waiting: true when everything went out at once.
  bool try_write(Spans& spans, WireEnd& end) noexcept;

  // Writes a head and then a piece of `memory`, by reference where the kernel can. Both must stay
  // valid until it returns. Same rules as write().
  platform::Task<WireEnd> send(base::ByteView head, const platform::SendMemory* memory,
                               base::ByteView piece, base::Duration timeout);
  // The part of send() that needs no waiting: both views shrink by what went out.
  bool try_send(base::ByteView& head, const platform::SendMemory& memory, base::ByteView& piece,
                WireEnd& end) noexcept;

  // Wakes whoever waits for the next request or watches the peer, to look around.
  void interrupt() noexcept {
    stream_->readable().nudge();
    stream_->gone().nudge();
  }
  [[nodiscard]] bool timed_out() const noexcept { return timed_out_; }

  // Ends the connection so that the peer can still read our last answer: FIN, then drop what
  // arrives for a bounded time and amount. Cancel-safe.
  platform::Task<void> linger(base::Duration timeout);

 private:
  // Up to here head and body leave as one packet; a larger body sends best when it starts a packet
  // of its own.
  static constexpr std::size_t kJoinHeadBytes = 128 * base::kKiB;
  static constexpr std::size_t kLingerBytes = 4 * base::kMiB;

  static std::size_t size_of(const Spans& spans) noexcept;
  // Watches the peer: enough progress since the last look restarts the clock.
  void note_progress(std::size_t& left, std::size_t now_left, base::Duration timeout,
                     platform::TimePoint latest = platform::kNever) noexcept;
  static void fired(platform::Timer& timer) noexcept;
  void on_timer() noexcept;
  void make_room() noexcept;

  std::unique_ptr<platform::Stream> stream_;
  BufferPool& pool_;
  platform::Executor& executor_;
  std::unique_ptr<ReadBuffer> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::size_t spent_ = 0;
  platform::TimePoint guard_at_ = platform::kNever;
  bool timed_out_ = false;
};

}  // namespace ron::http
