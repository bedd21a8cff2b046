// Net: byte streams and listeners over TCP and Unix sockets. TLS (tls.h) wraps a stream in another.
//
// Reads and writes are tried first and waited for only when they would block:
//
//   IoResult r = stream.try_read(buffer);
//   if (r.would_block()) co_await stream.readable().wait();
//
// A stream belongs to one executor; all of its calls happen there.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"
#include "platform/send_memory.h"
#include "platform/task.h"
#include "platform/wait.h"

namespace ron::platform {

// An IP address and port, or the path of a Unix socket. IPv4 is kept as an IPv4-mapped IPv6
// address, so one key serves both.
struct Endpoint {
  std::array<std::uint8_t, 16> ip{};
  std::uint16_t port = 0;
  std::string path{};  // of a Unix socket, which has neither address nor port

  // `127.0.0.1:8080`, `[::1]:8080`, `localhost:0`, `unix:/run/ron/storage.sock`. Host names other
  // than localhost are refused: what a server binds to must not depend on a resolver.
  static base::Result<Endpoint> parse(std::string_view text);
  static Endpoint loopback(std::uint16_t port);
  // Malformed when no socket can have that path.
  static base::Result<Endpoint> unix_socket(std::string_view path);
  [[nodiscard]] bool is_unix() const noexcept { return !path.empty(); }
  [[nodiscard]] bool is_v4() const noexcept;
  [[nodiscard]] bool is_loopback() const noexcept;  // 127.0.0.0/8 and ::1
  [[nodiscard]] bool is_wildcard() const noexcept;  // 0.0.0.0 and ::, every address of the machine
  [[nodiscard]] std::string text() const;
  friend auto operator<=>(const Endpoint&, const Endpoint&) = default;
};

// Outcome of one tried read or write.
struct IoResult {
  enum class Kind : std::uint8_t { Bytes, WouldBlock, Eof, Failed };
  Kind kind = Kind::Bytes;
  int error = 0;  // errno when Failed
  std::size_t bytes = 0;

  static IoResult moved(std::size_t n) noexcept { return {Kind::Bytes, 0, n}; }
  static IoResult blocked() noexcept { return {Kind::WouldBlock, 0, 0}; }
  static IoResult eof() noexcept { return {Kind::Eof, 0, 0}; }
  static IoResult failed(int error) noexcept { return {Kind::Failed, error, 0}; }
  [[nodiscard]] bool ok() const noexcept { return kind == Kind::Bytes; }
  [[nodiscard]] bool would_block() const noexcept { return kind == Kind::WouldBlock; }
};

// At most this many spans go into one gathered write.
inline constexpr std::size_t kGatherSpans = 8;

// Whether bytes go out now or may wait for those of the next call, to leave in one packet.
enum class Flush : std::uint8_t { Now, WithNext };

class Stream {
 public:
  Stream() noexcept
      : readable_event_(&readable_), writable_event_(&writable_), gone_event_(&gone_) {}
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  virtual ~Stream() = default;

  // Never block and never await. A gathered write may take fewer bytes than offered.
  virtual IoResult try_read(base::MutableBytes into) noexcept = 0;
  virtual IoResult try_write(std::span<const base::ByteView> spans, Flush flush) noexcept = 0;
  IoResult try_write(std::span<const base::ByteView> spans) noexcept {
    return try_write(spans, Flush::Now);
  }
  // Sends a piece of `memory`, by reference where the kernel can.
  virtual IoResult try_send(const SendMemory& memory, base::ByteView piece) noexcept {
    static_cast<void>(memory);
    return try_write({&piece, 1}, Flush::Now);
  }

  // Set while a try may succeed; cleared by the try that would block.
  [[nodiscard]] Event& readable() noexcept { return *readable_event_; }
  [[nodiscard]] Event& writable() noexcept { return *writable_event_; }
  // Set once the peer has closed or reset its side (it may be discovered late), whatever is still
  // to be read.
  [[nodiscard]] Event& gone() noexcept { return *gone_event_; }
  [[nodiscard]] bool peer_gone() const noexcept { return gone_event_->is_set(); }

  // From now on only a few of the bytes that the peer has no room for are taken, so that one who
  // does not read is noticed soon and costs little. Nothing changes where the system cannot.
  virtual void keep_little_unsent() noexcept {}

  // Sends FIN after what was written.
  virtual void shutdown_write() noexcept = 0;
  // Fails every pending and later call; both events are set. When the stream goes, the peer sees a
  // reset and not an end: nobody takes what was sent for all there is. (A Unix socket has no reset
  // unless data is unread.)
  virtual void abort() noexcept = 0;

  // Where a client comes from, or what a client's stream was connected to. Of a client on a Unix
  // socket: the socket.
  [[nodiscard]] virtual const Endpoint& peer() const noexcept = 0;
  // Who is at the other end of a Unix socket, if the system can tell.
  [[nodiscard]] virtual std::optional<std::uint32_t> peer_uid() const noexcept {
    return std::nullopt;
  }

  // Nobody on the way can read or change what passes.
  [[nodiscard]] virtual bool is_secure() const noexcept { return false; }

  // Both sides must agree on something before bytes can move (TLS): call handshake() first.
  [[nodiscard]] virtual bool needs_handshake() const noexcept { return false; }
  // UpstreamFail says what the sides did not agree on; Timeout. Cancel-safe: the stream is of no
  // use after an abort or an error.
  virtual Task<base::Result<>> handshake(TimePoint deadline);

 protected:
  // A stream around another one: what the inner one waits for, the outer one waits for.
  explicit Stream(Stream& inner) noexcept
      : readable_event_(&inner.readable()),
        writable_event_(&inner.writable()),
        gone_event_(&inner.gone()) {}

  Event readable_;
  Event writable_;
  Event gone_;

 private:
  Event* const readable_event_;
  Event* const writable_event_;
  Event* const gone_event_;
};

class Listener {
 public:
  Listener() = default;
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  virtual ~Listener() = default;

  // The next waiting connection, or nullptr when there is none now. `error` is the errno of a
  // failed accept (for example out of descriptors), else 0.
  virtual std::unique_ptr<Stream> try_accept(int& error) = 0;
  [[nodiscard]] Event& acceptable() noexcept { return acceptable_; }
  [[nodiscard]] virtual const Endpoint& local() const noexcept = 0;

 protected:
  Event acceptable_;
};

class Net {
 public:
  Net() = default;
  Net(const Net&) = delete;
  Net& operator=(const Net&) = delete;
  virtual ~Net() = default;

  // Listens on behalf of the current executor. Several executors may share one endpoint: the kernel
  // spreads connections. Port 0 picks a free one; pass the result's endpoint to the next executor.
  // A Unix socket is 0600 in a directory of mode 0700, which is made if it is not there; one that a
  // dead process left behind is replaced. It goes with its last listener.
  virtual base::Result<std::unique_ptr<Listener>> listen(const Endpoint& endpoint) = 0;

  // Starts a connection on the current executor: it is established when writable() gets set and
  // `try_write` of nothing does not fail.
  virtual base::Result<std::unique_ptr<Stream>> connect(const Endpoint& endpoint) = 0;

  // The user this process runs as, as peers on Unix sockets see it.
  [[nodiscard]] virtual std::uint32_t own_uid() const noexcept = 0;
};

}  // namespace ron::platform
