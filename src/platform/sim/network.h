// Network: the wires between the nodes of a world, and the TCP connections on them.
//
// A connection is two sides, each with bytes it has received and not read, and segments on the wire
// to the other. Segments keep their order; a lost or cut-off one holds up those behind it, as TCP
// does, until it gets through or the sender gives up. What one side may have unread at the other,
// in flight included, is bounded, so a slow reader makes its peer's writes block.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "platform/net.h"
#include "platform/sim/faults.h"

namespace ron::platform::sim {

class World;
class SimListener;
class SimNet;
class SimStream;

using NodeId = std::uint32_t;

struct LinkOptions {
  Duration latency = std::chrono::microseconds(50);
  Duration jitter = std::chrono::microseconds(50);
  std::uint64_t bytes_per_second = 0;  // 0: no limit
};

struct NetworkOptions {
  LinkOptions link = {};  // between two nodes, unless set_link says otherwise
  LinkOptions loopback = {std::chrono::microseconds(5), std::chrono::microseconds(5), 0};
  std::size_t window_bytes = 256 * 1024;  // unread at the peer, in flight included
  std::size_t backlog = 128;              // established and not accepted, per listener
  Duration retransmit = std::chrono::milliseconds(200);
  Duration give_up = std::chrono::seconds(60);  // of no progress: the sender sees a time-out
};

struct Segment {
  enum class Kind : std::uint8_t { Data, Finish, Reset };
  Kind kind = Kind::Data;
  TimePoint due{};
  std::vector<std::byte> bytes;
};

// One end of a connection.
struct Side {
  NodeId node = 0;
  Endpoint local;
  SimStream* stream = nullptr;  // null while waiting to be accepted and once closed
  bool established = false;
  bool closed = false;    // its stream is gone
  bool aborted = false;   // its stream was: the other side sees a reset
  bool vanished = false;  // its node lost power: it says nothing any more
  bool finish_sent = false;
  bool finish_received = false;
  bool blocked = false;  // its stream waits for room to write
  int error = 0;         // errno that every later call reports
  std::deque<std::vector<std::byte>> received;
  std::size_t received_offset = 0;  // already read from the first of them
  std::size_t received_bytes = 0;
  std::deque<Segment> outbound;  // on the wire to the other side
  std::size_t unread_at_peer = 0;
  TimePoint stalled_since = kNever;
};

struct Connection {
  static constexpr std::size_t kClient = 0;
  static constexpr std::size_t kServer = 1;

  std::uint64_t id = 0;
  Endpoint target;               // what the client asked for
  std::uint32_t client_uid = 0;  // who the client was then
  std::array<Side, 2> sides;
};
using ConnectionPtr = std::shared_ptr<Connection>;

class Network {
 public:
  Network(World& world, NetworkOptions options);

  // Both directions.
  void set_link(NodeId a, NodeId b, LinkOptions link);
  void partition(NodeId a, NodeId b);
  void heal(NodeId a, NodeId b);
  void heal_all();
  // One direction only.
  void block(NodeId from, NodeId to);
  void unblock(NodeId from, NodeId to);
  [[nodiscard]] bool connected(NodeId from, NodeId to) const;
  // Resets every connection between the two (or of one node with itself).
  void reset_connections(NodeId a, NodeId b);
  // Connections with at least one open side.
  [[nodiscard]] std::size_t open_connections() const;
  // Accepted connections that the node has not closed, of the other node that has most of them.
  [[nodiscard]] std::size_t most_streams_of_a_peer(NodeId node) const;

  [[nodiscard]] const NetworkOptions& options() const noexcept { return options_; }

 private:
  friend class Node;
  friend class SimListener;
  friend class SimNet;
  friend class SimStream;
  using Link = std::pair<NodeId, NodeId>;  // from, to

  // Node and SimNet.
  void add(SimNet& net) { nets_.push_back(&net); }
  void power_off(NodeId node);
  void power_on(NodeId node);

  // SimNet: starts the handshake of a new connection.
  ConnectionPtr dial(NodeId from, const Endpoint& local, const Endpoint& target);
  // SimStream.
  void send(const ConnectionPtr& connection, std::size_t side, Segment::Kind kind,
            std::vector<std::byte> bytes);
  void made_room(const ConnectionPtr& connection, std::size_t reader);
  void close(const ConnectionPtr& connection, std::size_t side);

  [[nodiscard]] const LinkOptions& link(NodeId from, NodeId to) const;
  [[nodiscard]] Duration delay(NodeId from, NodeId to);
  [[nodiscard]] SimNet* find(const Endpoint& target, NodeId from) const;
  TimePoint arrival(NodeId from, NodeId to, std::size_t bytes);
  void knock(const ConnectionPtr& connection, std::uint32_t attempt);
  void answer(const ConnectionPtr& connection, int error);
  void schedule_delivery(const ConnectionPtr& connection, std::size_t side);
  void deliver(const ConnectionPtr& connection, std::size_t side);
  void stall(const ConnectionPtr& connection, std::size_t side);
  void arrive(const ConnectionPtr& connection, std::size_t side, Segment segment);
  void fail(Connection& connection, std::size_t side, int error);
  void remember(const ConnectionPtr& connection);

  World& world_;
  const NetworkOptions options_;
  std::vector<SimNet*> nets_;  // by node
  std::map<Link, LinkOptions> links_;
  std::map<Link, TimePoint> busy_until_;  // of links with a bandwidth
  std::set<Link> blocked_;
  std::set<NodeId> down_;
  std::vector<std::weak_ptr<Connection>> connections_;
  std::uint64_t next_connection_ = 1;
};

}  // namespace ron::platform::sim
