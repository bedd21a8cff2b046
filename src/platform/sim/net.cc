#include "platform/sim/net.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "platform/sim/world.h"

namespace ron::platform::sim {
namespace {

constexpr std::uint16_t kFirstEphemeral = 32'768;

std::unexpected<base::Error> failure(std::string_view what, const Endpoint& endpoint, int error) {
  return base::fail(base::Code::UpstreamFail,
                    std::string(what) + " " + endpoint.text() + ": " + std::strerror(error));
}

// 10.0.x.y, so that a trace reads like a data centre's.
Endpoint node_address(NodeId id) {
  Endpoint endpoint = Endpoint::loopback(0);
  endpoint.ip[12] = 10;
  endpoint.ip[13] = 0;
  endpoint.ip[14] = static_cast<std::uint8_t>((id + 1) >> 8);
  endpoint.ip[15] = static_cast<std::uint8_t>(id + 1);
  return endpoint;
}

}  // namespace

bool is_local(const Endpoint& endpoint) noexcept {
  return endpoint.is_unix() || endpoint.is_loopback();
}

SimStream::SimStream(World& world, ConnectionPtr connection, std::size_t side)
    : world_(world), connection_(std::move(connection)), side_(side) {
  Side& me = connection_->sides[side_];
  peer_ = side == Connection::kClient ? connection_->target
                                      : connection_->sides[Connection::kClient].local;
  me.stream = this;
  if (me.established) writable_.set();
  if (me.received_bytes != 0) readable_.set();
  if (me.finish_received) finished();
  if (me.error != 0) failed();
}

SimStream::~SimStream() { world_.network().close(connection_, side_); }

void SimStream::finished() noexcept {
  gone_.set();
  readable_.set();
  if (side().finish_sent) writable_.set();
}

void SimStream::failed() noexcept {
  gone_.set();
  readable_.set();
  writable_.set();
}

bool SimStream::blocks_for_nothing() {
  if (!world_.chance(world_.faults().spurious_ready)) return false;
  world_.trace(TraceKind::Spurious, connection_->id, side_);
  return true;
}

IoResult SimStream::try_read(base::MutableBytes into) noexcept {
  if (side().aborted) return IoResult::failed(ECONNABORTED);
  if (blocks_for_nothing()) return IoResult::blocked();
  Side& me = side();
  if (into.empty()) return IoResult::moved(0);
  if (me.received_bytes == 0) {
    if (me.error != 0) return IoResult::failed(me.error);
    if (me.finish_received) return IoResult::eof();
    readable_.clear();
    return IoResult::blocked();
  }
  const std::size_t bytes = take(into);
  if (bytes < into.size() && !peer_gone()) readable_.clear();
  connection_->sides[1 - side_].unread_at_peer -= bytes;
  world_.network().made_room(connection_, side_);
  return IoResult::moved(bytes);
}

std::size_t SimStream::take(base::MutableBytes into) noexcept {
  Side& me = side();
  std::size_t taken = 0;
  while (taken < into.size() && !me.received.empty()) {
    const std::vector<std::byte>& first = me.received.front();
    const std::size_t part = std::min(into.size() - taken, first.size() - me.received_offset);
    std::memcpy(into.data() + taken, first.data() + me.received_offset, part);
    taken += part;
    me.received_offset += part;
    if (me.received_offset == first.size()) {
      me.received.pop_front();
      me.received_offset = 0;
    }
  }
  me.received_bytes -= taken;
  return taken;
}

IoResult SimStream::try_write(std::span<const base::ByteView> spans, Flush) noexcept {
  if (side().aborted) return IoResult::failed(ECONNABORTED);
  Side& me = side();
  if (me.error != 0) return IoResult::failed(me.error);
  if (!me.established) {
    writable_.clear();
    return IoResult::blocked();
  }
  std::size_t offered = 0;
  for (const base::ByteView span : spans) offered += span.size();
  if (offered == 0) return IoResult::moved(0);
  if (me.finish_sent) return IoResult::failed(EPIPE);
  if (blocks_for_nothing()) return IoResult::blocked();
  const std::size_t room = world_.network().options().window_bytes - me.unread_at_peer;
  if (room == 0) {
    me.blocked = true;
    writable_.clear();
    return IoResult::blocked();
  }
  std::size_t limit = std::min(offered, room);
  const bool cut_short = world_.chance(world_.faults().short_write);
  if (cut_short) {
    limit = 1 + world_.random().below(limit);
    world_.trace(TraceKind::ShortWrite, connection_->id, limit);
  }
  const std::size_t bytes = accept_bytes(spans, limit);
  world_.trace(TraceKind::Write, connection_->id, bytes);
  if (bytes < offered) {
    writable_.clear();
    if (bytes == room) {
      me.blocked = true;
    } else {
      room_soon();
    }
  }
  return IoResult::moved(bytes);
}

// Puts up to `limit` bytes on the wire, in one segment or in pieces.
std::size_t SimStream::accept_bytes(std::span<const base::ByteView> spans, std::size_t limit) {
  std::vector<std::byte> bytes;
  bytes.reserve(limit);
  std::size_t parts = 0;
  for (const base::ByteView span : spans) {
    if (span.empty()) continue;
    if (parts++ == kGatherSpans) break;
    const std::size_t part = std::min(span.size(), limit - bytes.size());
    bytes.insert(bytes.end(), span.begin(), span.begin() + static_cast<std::ptrdiff_t>(part));
  }
  side().unread_at_peer += bytes.size();
  const std::size_t total = bytes.size();
  while (bytes.size() > 1 && world_.chance(world_.faults().split_segment)) {
    const auto cut = static_cast<std::ptrdiff_t>(1 + world_.random().below(bytes.size() - 1));
    world_.trace(TraceKind::Split, connection_->id, static_cast<std::uint64_t>(cut));
    world_.network().send(connection_, side_, Segment::Kind::Data,
                          {bytes.begin(), bytes.begin() + cut});
    bytes.erase(bytes.begin(), bytes.begin() + cut);
  }
  world_.network().send(connection_, side_, Segment::Kind::Data, std::move(bytes));
  return total;
}

// A write was cut short although there is room: the event comes back by itself.
void SimStream::room_soon() {
  world_.after(world_.up_to(std::chrono::microseconds(100)),
               [connection = connection_, side = side_] {
                 SimStream* const stream = connection->sides[side].stream;
                 if (stream != nullptr) stream->room();
               });
}

void SimStream::shutdown_write() noexcept {
  Side& me = side();
  if (me.finish_sent || me.aborted || me.error != 0 || !me.established) return;
  me.finish_sent = true;
  world_.network().send(connection_, side_, Segment::Kind::Finish, {});
  if (me.finish_received) writable_.set();
}

void SimStream::abort() noexcept {
  side().aborted = true;
  readable_.set();
  writable_.set();
}

std::optional<std::uint32_t> SimStream::peer_uid() const noexcept {
  if (!peer_.is_unix() || side_ == Connection::kClient) return std::nullopt;
  return connection_->client_uid;
}

SimListener::~SimListener() {
  if (net_ == nullptr) return;
  net_->forget(*this);
  for (const ConnectionPtr& connection : waiting_) {
    Side& server = connection->sides[Connection::kServer];
    if (std::exchange(server.closed, true) || server.error != 0) continue;
    world_.network().send(connection, Connection::kServer, Segment::Kind::Reset, {});
  }
}

bool SimListener::full() const noexcept {
  return waiting_.size() >= world_.network().options().backlog;
}

void SimListener::enqueue(ConnectionPtr connection) {
  waiting_.push_back(std::move(connection));
  acceptable_.set();
}

std::unique_ptr<Stream> SimListener::try_accept(int& error) {
  error = 0;
  if (waiting_.empty()) {
    acceptable_.clear();
    return nullptr;
  }
  if (world_.chance(world_.faults().fail_accept)) {
    world_.trace(TraceKind::AcceptFail, local_.port, EMFILE);
    error = EMFILE;
    return nullptr;
  }
  ConnectionPtr connection = std::move(waiting_.front());
  waiting_.pop_front();
  world_.trace(TraceKind::Accept, connection->id, local_.port);
  return std::make_unique<SimStream>(world_, std::move(connection), Connection::kServer);
}

SimNet::SimNet(World& world, NodeId id) : world_(world), id_(id), address_(node_address(id)) {
  world_.network().add(*this);
}

base::Result<std::unique_ptr<Listener>> SimNet::listen(const Endpoint& endpoint) {
  const int error = check_bind(endpoint);
  if (error != 0) return failure("cannot listen on", endpoint, error);
  Endpoint local = endpoint;
  if (local.port == 0 && !local.is_unix()) local.port = free_port();
  auto listener = std::make_unique<SimListener>(world_, *this, local);
  listeners_.push_back(listener.get());
  return listener;
}

// Sharing the very same endpoint is how cores spread connections; anything else that overlaps is
// taken.
int SimNet::check_bind(const Endpoint& endpoint) const {
  if (!is_local(endpoint) && !endpoint.is_wildcard() && endpoint.ip != address_.ip) {
    return EADDRNOTAVAIL;
  }
  if (endpoint.is_unix() || endpoint.port == 0) return 0;
  if (occupied_.contains(endpoint.port)) return EADDRINUSE;
  for (const SimListener* listener : listeners_) {
    const Endpoint& local = listener->local();
    if (local == endpoint || local.port != endpoint.port) continue;
    if (local.is_wildcard() || endpoint.is_wildcard()) return EADDRINUSE;
  }
  return 0;
}

bool SimNet::port_taken(std::uint16_t port) const {
  return occupied_.contains(port) || std::ranges::any_of(listeners_, [port](const auto* listener) {
           return listener->local().port == port;
         });
}

std::uint16_t SimNet::free_port() {
  do {
    next_port_ =
        next_port_ == UINT16_MAX ? kFirstEphemeral : static_cast<std::uint16_t>(next_port_ + 1);
  } while (port_taken(next_port_));
  return next_port_;
}

base::Result<std::unique_ptr<Stream>> SimNet::connect(const Endpoint& endpoint) {
  Endpoint local = is_local(endpoint) ? endpoint : address_;
  if (!local.is_unix()) local.port = free_port();
  ConnectionPtr connection = world_.network().dial(id_, local, endpoint);
  connection->client_uid = uid_;
  return std::make_unique<SimStream>(world_, std::move(connection), Connection::kClient);
}

SimListener* SimNet::pick(const Endpoint& target) {
  std::vector<SimListener*> matches;
  for (SimListener* listener : listeners_) {
    const Endpoint& local = listener->local();
    if (local == target || (local.port == target.port && local.is_wildcard())) {
      matches.push_back(listener);
    }
  }
  return matches.empty() ? nullptr : matches[world_.random().below(matches.size())];
}

void SimNet::forget(SimListener& listener) noexcept { std::erase(listeners_, &listener); }

void SimNet::forget_listeners() noexcept {
  for (SimListener* listener : listeners_) listener->net_ = nullptr;
  listeners_.clear();
}

}  // namespace ron::platform::sim
