#include "platform/sim/network.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "platform/sim/net.h"
#include "platform/sim/world.h"

namespace ron::platform::sim {
namespace {

constexpr std::uint32_t kKnocks = 6;  // tries of a handshake before it times out
constexpr Duration kFirstKnockWait = std::chrono::seconds(1);

}  // namespace

Network::Network(World& world, NetworkOptions options) : world_(world), options_(options) {}

void Network::set_link(NodeId a, NodeId b, LinkOptions link) {
  links_[{a, b}] = link;
  links_[{b, a}] = link;
}

void Network::partition(NodeId a, NodeId b) {
  block(a, b);
  block(b, a);
}

void Network::heal(NodeId a, NodeId b) {
  unblock(a, b);
  unblock(b, a);
}

void Network::heal_all() {
  const std::set<Link> blocked = blocked_;
  for (const auto& [from, to] : blocked) unblock(from, to);
}

void Network::block(NodeId from, NodeId to) {
  if (blocked_.emplace(from, to).second) world_.trace(TraceKind::Partition, from, to);
}

void Network::unblock(NodeId from, NodeId to) {
  if (blocked_.erase({from, to}) != 0) world_.trace(TraceKind::Heal, from, to);
}

bool Network::connected(NodeId from, NodeId to) const {
  return !down_.contains(from) && !down_.contains(to) && !blocked_.contains({from, to});
}

void Network::reset_connections(NodeId a, NodeId b) {
  for (const auto& weak : std::vector(connections_)) {
    const ConnectionPtr connection = weak.lock();
    if (!connection) continue;
    const NodeId from = connection->sides[0].node;
    const NodeId to = connection->sides[1].node;
    if (std::minmax(from, to) != std::minmax(a, b)) continue;
    fail(*connection, Connection::kClient, ECONNRESET);
    fail(*connection, Connection::kServer, ECONNRESET);
  }
}

std::size_t Network::open_connections() const {
  return static_cast<std::size_t>(std::ranges::count_if(connections_, [](const auto& weak) {
    const ConnectionPtr connection = weak.lock();
    return connection && std::ranges::any_of(connection->sides, [](const Side& side) {
             return side.stream != nullptr;
           });
  }));
}

std::size_t Network::most_streams_of_a_peer(NodeId node) const {
  std::map<NodeId, std::size_t> open;
  std::size_t most = 0;
  for (const auto& weak : connections_) {
    const ConnectionPtr connection = weak.lock();
    if (!connection) continue;
    const Side& side = connection->sides[Connection::kServer];
    if (side.node != node || side.stream == nullptr) continue;
    most = std::max(most, ++open[connection->sides[Connection::kClient].node]);
  }
  return most;
}

void Network::power_off(NodeId node) {
  down_.insert(node);
  nets_[node]->forget_listeners();
  for (const auto& weak : connections_) {
    const ConnectionPtr connection = weak.lock();
    if (!connection) continue;
    for (Side& side : connection->sides) {
      const bool knocking = &side == &connection->sides[Connection::kServer] && !side.established;
      if (side.node != node || knocking) continue;
      side.vanished = true;
      side.closed = true;
      side.outbound.clear();
      side.error = ECONNABORTED;
      if (side.stream != nullptr) side.stream->failed();
    }
  }
}

void Network::power_on(NodeId node) { down_.erase(node); }

const LinkOptions& Network::link(NodeId from, NodeId to) const {
  const auto found = links_.find({from, to});
  if (found != links_.end()) return found->second;
  return from == to ? options_.loopback : options_.link;
}

Duration Network::delay(NodeId from, NodeId to) {
  const LinkOptions& wire = link(from, to);
  return wire.latency + world_.up_to(wire.jitter);
}

SimNet* Network::find(const Endpoint& target, NodeId from) const {
  if (is_local(target)) return nets_[from];
  const auto found = std::ranges::find_if(
      nets_, [&](const SimNet* net) { return net->address().ip == target.ip; });
  return found == nets_.end() ? nullptr : *found;
}

// When bytes sent now are all there.
TimePoint Network::arrival(NodeId from, NodeId to, std::size_t bytes) {
  const LinkOptions& wire = link(from, to);
  TimePoint sent = world_.now();
  if (wire.bytes_per_second != 0) {
    TimePoint& busy_until = busy_until_[{from, to}];
    const auto lasts = static_cast<Duration::rep>(bytes * 1'000'000'000ULL / wire.bytes_per_second);
    sent = busy_until = std::max(busy_until, sent) + Duration(lasts);
  }
  return sent + delay(from, to);
}

ConnectionPtr Network::dial(NodeId from, const Endpoint& local, const Endpoint& target) {
  auto connection = std::make_shared<Connection>();
  connection->id = next_connection_++;
  connection->target = target;
  Side& client = connection->sides[Connection::kClient];
  client.node = from;
  client.local = local;
  SimNet* const server = find(target, from);
  connection->sides[Connection::kServer].node = server != nullptr ? server->id() : from;
  remember(connection);
  world_.trace(TraceKind::Connect, connection->id, target.port);
  if (world_.chance(world_.faults().refuse_connect)) {
    world_.after(delay(from, from), [this, connection] { answer(connection, ECONNREFUSED); });
  } else if (server == nullptr) {
    world_.after(delay(from, from), [this, connection] { answer(connection, EHOSTUNREACH); });
  } else {
    world_.after(delay(from, server->id()), [this, connection] { knock(connection, 0); });
  }
  return connection;
}

// The handshake reaches the server, or is tried again later.
void Network::knock(const ConnectionPtr& connection, std::uint32_t attempt) {
  Side& client = connection->sides[Connection::kClient];
  Side& server = connection->sides[Connection::kServer];
  if (client.closed) return;
  const bool reachable = connected(client.node, server.node) && connected(server.node, client.node);
  SimListener* const listener = reachable ? nets_[server.node]->pick(connection->target) : nullptr;
  if (reachable && listener == nullptr) {
    world_.after(delay(server.node, client.node),
                 [this, connection] { answer(connection, ECONNREFUSED); });
    return;
  }
  if (!reachable || listener->full()) {
    if (attempt == kKnocks) return answer(connection, ETIMEDOUT);
    world_.after(kFirstKnockWait * (1U << attempt),
                 [this, connection, attempt] { knock(connection, attempt + 1); });
    return;
  }
  server.established = true;
  server.local = connection->target;
  listener->enqueue(connection);
  world_.after(delay(server.node, client.node), [this, connection] { answer(connection, 0); });
}

// The outcome of the handshake reaches the client.
void Network::answer(const ConnectionPtr& connection, int error) {
  Side& client = connection->sides[Connection::kClient];
  if (client.vanished) return;
  if (client.closed) {
    if (error == 0) send(connection, Connection::kClient, Segment::Kind::Reset, {});
    return;
  }
  if (client.error != 0) return;
  if (error != 0) {
    world_.trace(TraceKind::Refused, connection->id, static_cast<std::uint64_t>(error));
    return fail(*connection, Connection::kClient, error);
  }
  world_.trace(TraceKind::Established, connection->id, connection->sides[1].node);
  client.established = true;
  client.stream->established();
}

void Network::send(const ConnectionPtr& connection, std::size_t side, Segment::Kind kind,
                   std::vector<std::byte> bytes) {
  Side& from = connection->sides[side];
  const NodeId to = connection->sides[1 - side].node;
  Segment segment{kind, arrival(from.node, to, bytes.size()), std::move(bytes)};
  if (from.node != to && world_.chance(world_.faults().lose_segment)) {
    world_.trace(TraceKind::Lose, connection->id, segment.bytes.size());
    segment.due += options_.retransmit + world_.up_to(options_.retransmit);
  }
  from.outbound.push_back(std::move(segment));
  if (from.outbound.size() == 1) schedule_delivery(connection, side);
}

void Network::schedule_delivery(const ConnectionPtr& connection, std::size_t side) {
  const TimePoint due = connection->sides[side].outbound.front().due;
  world_.at(due, [this, connection, side] { deliver(connection, side); });
}

// The first segment on the wire gets to the other side, if it can.
void Network::deliver(const ConnectionPtr& connection, std::size_t side) {
  Side& from = connection->sides[side];
  if (from.outbound.empty()) return;  // dropped meanwhile
  const NodeId to = connection->sides[1 - side].node;
  if (!connected(from.node, to)) return stall(connection, side);
  from.stalled_since = kNever;
  Segment segment = std::move(from.outbound.front());
  from.outbound.pop_front();
  if (!from.outbound.empty()) schedule_delivery(connection, side);
  if (segment.kind == Segment::Kind::Data && world_.chance(world_.faults().reset_segment)) {
    world_.trace(TraceKind::ResetFault, connection->id, side);
    fail(*connection, side, ECONNRESET);
    fail(*connection, 1 - side, ECONNRESET);
    return;
  }
  arrive(connection, side, std::move(segment));
}

// The wire is cut: try again later, and give up after a long time without progress.
void Network::stall(const ConnectionPtr& connection, std::size_t side) {
  Side& from = connection->sides[side];
  if (from.stalled_since == kNever) from.stalled_since = world_.now();
  world_.trace(TraceKind::Stall, connection->id, side);
  if (world_.now() - from.stalled_since >= options_.give_up) {
    return fail(*connection, side, ETIMEDOUT);
  }
  from.outbound.front().due =
      world_.now() + options_.retransmit + world_.up_to(options_.retransmit);
  schedule_delivery(connection, side);
}

void Network::arrive(const ConnectionPtr& connection, std::size_t side, Segment segment) {
  Side& to = connection->sides[1 - side];
  if (to.error != 0 && !to.vanished) return;
  if (segment.kind == Segment::Kind::Reset) {
    world_.trace(TraceKind::Reset, connection->id, 1 - side);
    return fail(*connection, 1 - side, ECONNRESET);
  }
  if (to.closed) {
    if (segment.kind == Segment::Kind::Data) send(connection, 1 - side, Segment::Kind::Reset, {});
    return;
  }
  if (segment.kind == Segment::Kind::Finish) {
    world_.trace(TraceKind::Finish, connection->id, 1 - side);
    to.finish_received = true;
    if (to.stream != nullptr) to.stream->finished();
    return;
  }
  world_.trace(TraceKind::Deliver, connection->id, segment.bytes.size());
  to.received_bytes += segment.bytes.size();
  to.received.push_back(std::move(segment.bytes));
  if (to.stream != nullptr) to.stream->arrived();
}

// The reader took bytes: its peer hears of the room one trip later.
void Network::made_room(const ConnectionPtr& connection, std::size_t reader) {
  Side& writer = connection->sides[1 - reader];
  if (!writer.blocked) return;
  writer.blocked = false;
  const Duration trip = delay(connection->sides[reader].node, writer.node);
  world_.after(trip, [connection, reader] {
    SimStream* const stream = connection->sides[1 - reader].stream;
    if (stream != nullptr) stream->room();
  });
}

void Network::close(const ConnectionPtr& connection, std::size_t side) {
  Side& me = connection->sides[side];
  me.stream = nullptr;
  if (std::exchange(me.closed, true) || me.error != 0 || !me.established) return;
  const bool resets = me.aborted && !connection->target.is_unix();  // a Unix socket has no reset
  if (me.received_bytes != 0 || resets) {
    me.received.clear();
    send(connection, side, Segment::Kind::Reset, {});
  } else if (!me.finish_sent) {
    me.finish_sent = true;
    send(connection, side, Segment::Kind::Finish, {});
  }
}

void Network::fail(Connection& connection, std::size_t side, int error) {
  Side& me = connection.sides[side];
  if (me.error != 0) return;
  me.error = error;
  me.outbound.clear();
  if (me.stream != nullptr) me.stream->failed();
}

void Network::remember(const ConnectionPtr& connection) {
  constexpr std::size_t kSweepAbove = 64;
  if (connections_.size() >= kSweepAbove && connections_.size() == connections_.capacity()) {
    std::erase_if(connections_, [](const auto& weak) { return weak.expired(); });
  }
  connections_.push_back(connection);
}

}  // namespace ron::platform::sim
