#include "platform/posix/net.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include "platform/posix/descriptor.h"
#include "platform/posix/loop.h"

namespace ron::platform::posix {
namespace {

// Not the library's recv and sendmsg: a thread can be cancelled in those, and being ready for it
// costs every call two exchanges of a word. Nobody cancels threads here.
ssize_t receive(int socket, base::MutableBytes into) noexcept {
  return syscall(SYS_recvfrom, socket, into.data(), into.size(), MSG_DONTWAIT, nullptr, nullptr);
}
ssize_t send(int socket, const msghdr& message, int flags) noexcept {
  return syscall(SYS_sendmsg, socket, &message, flags);
}

constexpr int kBacklog = 4096;
constexpr std::uint32_t kHangUp = EPOLLRDHUP | EPOLLHUP | EPOLLERR;

Loop& current_loop() noexcept { return static_cast<Loop&>(*Executor::current()); }

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t length = sizeof(sockaddr_storage);
  sockaddr* get() noexcept { return reinterpret_cast<sockaddr*>(&storage); }
};

SocketAddress to_socket_address(const Endpoint& endpoint) {
  SocketAddress address;
  if (endpoint.is_unix()) {
    auto& local = reinterpret_cast<sockaddr_un&>(address.storage);
    local.sun_family = AF_UNIX;
    endpoint.path.copy(local.sun_path, sizeof local.sun_path - 1);
    address.length = sizeof local;
  } else if (endpoint.is_v4()) {
    auto& v4 = reinterpret_cast<sockaddr_in&>(address.storage);
    v4.sin_family = AF_INET;
    v4.sin_port = htons(endpoint.port);
    std::memcpy(&v4.sin_addr, endpoint.ip.data() + 12, 4);
    address.length = sizeof v4;
  } else {
    auto& v6 = reinterpret_cast<sockaddr_in6&>(address.storage);
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(endpoint.port);
    std::memcpy(&v6.sin6_addr, endpoint.ip.data(), 16);
    address.length = sizeof v6;
  }
  return address;
}

Endpoint to_endpoint(const SocketAddress& address) {
  Endpoint endpoint = Endpoint::loopback(0);
  if (address.storage.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address.storage);
    endpoint.port = ntohs(v4.sin_port);
    std::memcpy(endpoint.ip.data() + 12, &v4.sin_addr, 4);
  } else {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address.storage);
    endpoint.port = ntohs(v6.sin6_port);
    std::memcpy(endpoint.ip.data(), &v6.sin6_addr, 16);
  }
  return endpoint;
}

std::unexpected<base::Error> failed(std::string_view what, const Endpoint& endpoint, int error) {
  return base::fail(base::Code::UpstreamFail,
                    std::string(what) + " " + endpoint.text() + ": " + std::strerror(error));
}

// After this much silence the kernel asks whether the peer of a TCP stream is still there.
constexpr int kKeepAliveIdleS = 60;

// The kernel's buffer of a stream grows to megabytes, whether or not anybody reads them.
constexpr int kLittleUnsent = 16 * 1024;

class SocketStream final : public Stream, private IoSource {
 public:
  SocketStream(Descriptor socket, Endpoint peer, bool connecting) noexcept
      : IoSource(&SocketStream::on_events),
        socket_(std::move(socket)),
        peer_(std::move(peer)),
        connecting_(connecting) {
    if (!connecting) writable_.set();
  }

  int start() noexcept { return current_loop().add(socket_.get(), *this); }

  IoResult try_read(base::MutableBytes into) noexcept override {
    if (aborted_) return IoResult::failed(ECONNABORTED);
    const ssize_t n = receive(socket_.get(), into);
    if (n < 0) return blocked_or_failed(readable_);
    if (n == 0) return into.empty() ? IoResult::moved(0) : IoResult::eof();
    // A short read has emptied the socket: the next edge tells of more. After a hang-up there is no
    // next edge, so the level stays up until end-of-file is read.
    if (static_cast<std::size_t>(n) < into.size() && !peer_gone()) readable_.clear();
    return IoResult::moved(static_cast<std::size_t>(n));
  }

  using Stream::try_write;
  IoResult try_write(std::span<const base::ByteView> spans, Flush flush) noexcept override {
    if (aborted_) return IoResult::failed(ECONNABORTED);
    if (connecting_) {
      const IoResult state = finish_connect();
      if (!state.ok()) return state;
    }
    std::array<iovec, kGatherSpans> parts;  // NOLINT: filled below
    std::size_t count = 0;
    std::size_t offered = 0;
    for (const base::ByteView span : spans) {
      if (span.empty()) continue;
      if (count == parts.size()) break;
      parts[count++] = {const_cast<std::byte*>(span.data()), span.size()};
      offered += span.size();
    }
    if (count == 0) return IoResult::moved(0);
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = count;
    const ssize_t n = send(socket_.get(), message,
                           MSG_DONTWAIT | MSG_NOSIGNAL | (flush == Flush::WithNext ? MSG_MORE : 0));
    if (n < 0) return blocked_or_failed(writable_);
    if (static_cast<std::size_t>(n) < offered) writable_.clear();
    return IoResult::moved(static_cast<std::size_t>(n));
  }

  // Only on an established stream: a head has always gone before.
  IoResult try_send(const SendMemory& memory, base::ByteView piece) noexcept override {
    if (memory.descriptor() < 0) return try_write({&piece, 1}, Flush::Now);
    if (aborted_) return IoResult::failed(ECONNABORTED);
    auto offset = static_cast<off_t>(memory.offset()) + (piece.data() - memory.bytes().data());
    const ssize_t n = sendfile(socket_.get(), memory.descriptor(), &offset, piece.size());
    if (n < 0) return blocked_or_failed(writable_);
    return IoResult::moved(static_cast<std::size_t>(n));
  }

  void shutdown_write() noexcept override {
    if (!aborted_) shutdown(socket_.get(), SHUT_WR);
  }
  void abort() noexcept override {
    aborted_ = true;
    const linger reset{.l_onoff = 1, .l_linger = 0};  // no time: a reset instead of a FIN
    setsockopt(socket_.get(), SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    readable_.set();
    writable_.set();
  }
  void keep_little_unsent() noexcept override {
    if (peer_.is_unix()) return;  // its buffers do not grow
    setsockopt(socket_.get(), IPPROTO_TCP, TCP_NOTSENT_LOWAT, &kLittleUnsent, sizeof kLittleUnsent);
  }
  [[nodiscard]] const Endpoint& peer() const noexcept override { return peer_; }
  [[nodiscard]] std::optional<std::uint32_t> peer_uid() const noexcept override {
    ucred who{};
    socklen_t length = sizeof who;
    if (!peer_.is_unix() ||
        getsockopt(socket_.get(), SOL_SOCKET, SO_PEERCRED, &who, &length) != 0) {
      return std::nullopt;
    }
    return who.uid;
  }

 private:
  static void on_events(IoSource& source, std::uint32_t events) noexcept {
    auto& stream = static_cast<SocketStream&>(source);
    if ((events & kHangUp) != 0) stream.gone_.set();
    if ((events & (EPOLLIN | kHangUp)) != 0) stream.readable_.set();
    if ((events & (EPOLLOUT | EPOLLHUP | EPOLLERR)) != 0) stream.writable_.set();
  }

  IoResult blocked_or_failed(Event& event) noexcept {
    if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) {
      if (errno != EINTR) event.clear();
      return IoResult::blocked();
    }
    return IoResult::failed(errno);
  }

  IoResult finish_connect() noexcept {
    if (!writable_.is_set()) return IoResult::blocked();
    if (connect_error_ == 0) {  // the kernel tells only once
      socklen_t length = sizeof connect_error_;
      getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &connect_error_, &length);
    }
    if (connect_error_ != 0) return IoResult::failed(connect_error_);
    connecting_ = false;
    return IoResult::moved(0);
  }

  Descriptor socket_;
  Endpoint peer_;
  bool connecting_;
  int connect_error_ = 0;
  bool aborted_ = false;
};

int bind_to(const Descriptor& socket, const Endpoint& endpoint, bool shared) {
  const int one = 1;
  setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  if (shared) setsockopt(socket.get(), SOL_SOCKET, SO_REUSEPORT, &one, sizeof one);
  SocketAddress address = to_socket_address(endpoint);
  return bind(socket.get(), address.get(), address.length) == 0 ? 0 : errno;
}

// Between processes of one machine there is nothing to be congested, and a system whose choice is
// BBR would pace every stream with a timer: 1 MiB took 1,600 requests/s instead of 3,100 and p99
// 39 ms instead of 20. Reno does not pace and is part of every kernel. Every other choice of the
// system stays, here and, BBR as well, on other addresses.
void do_not_pace(const Descriptor& socket) {
  constexpr std::string_view kPacing = "bbr";
  constexpr std::string_view kPlain = "reno";
  std::array<char, 16> chosen{};
  socklen_t length = chosen.size();
  if (getsockopt(socket.get(), IPPROTO_TCP, TCP_CONGESTION, chosen.data(), &length) != 0) return;
  if (!std::string_view(chosen.data()).starts_with(kPacing)) return;
  setsockopt(socket.get(), IPPROTO_TCP, TCP_CONGESTION, kPlain.data(), kPlain.size());
}

// Nothing waits for an acknowledgement before it is sent, and a peer that has vanished is noticed.
void set_tcp_options(const Descriptor& socket) {
  const int one = 1;
  setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  setsockopt(socket.get(), SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one);
  setsockopt(socket.get(), IPPROTO_TCP, TCP_KEEPIDLE, &kKeepAliveIdleS, sizeof kKeepAliveIdleS);
}

// An accepted stream has the options of its listener.
Descriptor make_socket(const Endpoint& endpoint) {
  const int family = endpoint.is_unix() ? AF_UNIX : endpoint.is_v4() ? AF_INET : AF_INET6;
  Descriptor made(socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!endpoint.is_unix()) set_tcp_options(made);
  if (endpoint.is_loopback()) do_not_pace(made);
  return made;
}

}  // namespace

class SocketListener final : public Listener, private IoSource {
 public:
  SocketListener(SocketNet& net, Descriptor socket, Endpoint local,
                 std::shared_ptr<SocketPath> path) noexcept
      : IoSource(&SocketListener::on_events),
        net_(net),
        path_(std::move(path)),
        socket_(std::move(socket)),
        local_(std::move(local)) {}
  ~SocketListener() override { net_.forget(local_); }

  int start() noexcept { return current_loop().add(socket_.get(), *this); }

  std::unique_ptr<Stream> try_accept(int& error) override {
    SocketAddress address;
    const int fd =
        accept4(socket_.get(), address.get(), &address.length, SOCK_NONBLOCK | SOCK_CLOEXEC);
    error = fd < 0 ? errno : 0;
    if (fd < 0) {
      if (error == EAGAIN || error == EINTR || error == ECONNABORTED) {
        if (error == EAGAIN) acceptable_.clear();
        error = 0;
      }
      return nullptr;
    }
    auto stream = std::make_unique<SocketStream>(
        Descriptor(fd), local_.is_unix() ? local_ : to_endpoint(address), false);
    error = stream->start();
    if (error != 0) return nullptr;
    return stream;
  }
  [[nodiscard]] const Endpoint& local() const noexcept override { return local_; }

 private:
  static void on_events(IoSource& source, std::uint32_t) noexcept {
    static_cast<SocketListener&>(source).acceptable_.set();
  }

  SocketNet& net_;
  std::shared_ptr<SocketPath> path_;  // null for TCP
  Descriptor socket_;
  Endpoint local_;
};

std::uint32_t SocketNet::own_uid() const noexcept { return geteuid(); }

base::Result<std::unique_ptr<Listener>> SocketNet::listen(const Endpoint& endpoint) {
  auto bound = endpoint.is_unix() ? bind_unix(endpoint) : bind_tcp(endpoint);
  if (!bound) return base::fail(std::move(bound.error()));
  auto listener = std::make_unique<SocketListener>(*this, std::move(bound->socket),
                                                   std::move(bound->local), std::move(bound->path));
  const int registered = listener->start();
  if (registered != 0) return failed("cannot listen on", endpoint, registered);
  return listener;
}

base::Result<void> check_port(const Endpoint& endpoint) {
  if (endpoint.is_unix()) return {};
  const Descriptor probe = make_socket(endpoint);
  const int error = bind_to(probe, endpoint, false);
  if (error != 0) return failed("cannot listen on", endpoint, error);
  return {};
}

base::Result<SocketNet::Bound> SocketNet::bind_tcp(const Endpoint& endpoint) {
  const std::lock_guard lock(mutex_);
  if (endpoint.port != 0 && !bound_.contains(endpoint)) {
    // Sharing the port between cores would also share it with another process: ask for it alone
    // first.
    const auto free = check_port(endpoint);
    if (!free) return base::fail(free.error());
  }
  Descriptor socket = make_socket(endpoint);
  if (!socket.valid()) return failed("cannot listen on", endpoint, errno);
  const int error = bind_to(socket, endpoint, true);
  if (error != 0) return failed("cannot listen on", endpoint, error);
  if (::listen(socket.get(), kBacklog) != 0) return failed("cannot listen on", endpoint, errno);
  SocketAddress address;
  getsockname(socket.get(), address.get(), &address.length);
  Endpoint local = to_endpoint(address);
  bound_.insert(local);
  return Bound{std::move(socket), std::move(local), nullptr};
}

// One socket for all cores: a Unix socket cannot be bound twice. Who is first to accept has the
// connection.
base::Result<SocketNet::Bound> SocketNet::bind_unix(const Endpoint& endpoint) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<SocketPath> path = paths_[endpoint.path].lock();
  if (!path) {
    auto claimed = SocketPath::claim(endpoint.path, kBacklog);
    if (!claimed) return base::fail(std::move(claimed.error()));
    path = std::make_shared<SocketPath>(std::move(*claimed));
    paths_[endpoint.path] = path;
  }
  Descriptor socket = path->descriptor();
  if (!socket.valid()) return failed("cannot listen on", endpoint, errno);
  return Bound{std::move(socket), endpoint, std::move(path)};
}

void SocketNet::forget(const Endpoint& endpoint) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = bound_.find(endpoint);
  if (found != bound_.end()) bound_.erase(found);
}

base::Result<std::unique_ptr<Stream>> SocketNet::connect(const Endpoint& endpoint) {
  Descriptor socket = make_socket(endpoint);
  if (!socket.valid()) return failed("cannot connect to", endpoint, errno);
  SocketAddress address = to_socket_address(endpoint);
  const int started = ::connect(socket.get(), address.get(), address.length);
  if (started != 0 && errno != EINPROGRESS) return failed("cannot connect to", endpoint, errno);
  auto stream = std::make_unique<SocketStream>(std::move(socket), endpoint, true);
  const int registered = stream->start();
  if (registered != 0) return failed("cannot connect to", endpoint, registered);
  return stream;
}

}  // namespace ron::platform::posix
