// SimNet: the Net of one simulated node, with the readiness rules of the posix one.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <vector>

#include "platform/net.h"
#include "platform/sim/network.h"

namespace ron::platform::sim {

// Inside one machine.
[[nodiscard]] bool is_local(const Endpoint& endpoint) noexcept;

class SimStream final : public Stream {
 public:
  SimStream(World& world, ConnectionPtr connection, std::size_t side);
  ~SimStream() override;

  IoResult try_read(base::MutableBytes into) noexcept override;
  using Stream::try_write;
  IoResult try_write(std::span<const base::ByteView> spans, Flush flush) noexcept override;
  void shutdown_write() noexcept override;
  void abort() noexcept override;
  [[nodiscard]] const Endpoint& peer() const noexcept override { return peer_; }
  [[nodiscard]] std::optional<std::uint32_t> peer_uid() const noexcept override;

 private:
  friend class Network;
  // Told by the network.
  void established() noexcept { writable_.set(); }
  void arrived() noexcept { readable_.set(); }
  void room() noexcept { writable_.set(); }
  void finished() noexcept;
  void failed() noexcept;

  Side& side() noexcept { return connection_->sides[side_]; }
  std::size_t take(base::MutableBytes into) noexcept;
  std::size_t accept_bytes(std::span<const base::ByteView> spans, std::size_t limit);
  void room_soon();
  [[nodiscard]] bool blocks_for_nothing();

  World& world_;
  ConnectionPtr connection_;
  std::size_t side_;
  Endpoint peer_;
};

class SimListener final : public Listener {
 public:
  SimListener(World& world, SimNet& net, Endpoint local)
      : world_(world), net_(&net), local_(std::move(local)) {}
  ~SimListener() override;

  std::unique_ptr<Stream> try_accept(int& error) override;
  [[nodiscard]] const Endpoint& local() const noexcept override { return local_; }

 private:
  friend class Network;
  friend class SimNet;
  [[nodiscard]] bool full() const noexcept;
  void enqueue(ConnectionPtr connection);

  World& world_;
  SimNet* net_;  // null once the node has lost power
  Endpoint local_;
  std::deque<ConnectionPtr> waiting_;
};

class SimNet final : public Net {
 public:
  SimNet(World& world, NodeId id);

  base::Result<std::unique_ptr<Listener>> listen(const Endpoint& endpoint) override;
  base::Result<std::unique_ptr<Stream>> connect(const Endpoint& endpoint) override;
  [[nodiscard]] std::uint32_t own_uid() const noexcept override { return uid_; }

  // Connections made from now on come from that user.
  void become(std::uint32_t uid) noexcept { uid_ = uid; }
  [[nodiscard]] NodeId id() const noexcept { return id_; }
  // The node's address; the port is 0.
  [[nodiscard]] const Endpoint& address() const noexcept { return address_; }
  // Ports held by some other process of the machine: listening there fails.
  void occupy(std::uint16_t port) { occupied_.insert(port); }
  void release(std::uint16_t port) { occupied_.erase(port); }

 private:
  friend class Network;
  friend class SimListener;
  // A listener for the target, by seed when several share it; null when there is none.
  SimListener* pick(const Endpoint& target);
  void forget(SimListener& listener) noexcept;
  void forget_listeners() noexcept;
  [[nodiscard]] int check_bind(const Endpoint& endpoint) const;
  [[nodiscard]] bool port_taken(std::uint16_t port) const;
  std::uint16_t free_port();

  World& world_;
  NodeId id_;
  Endpoint address_;
  std::vector<SimListener*> listeners_;
  std::set<std::uint16_t> occupied_;
  std::uint16_t next_port_ = 32'768;
  std::uint32_t uid_ = 1000;
};

}  // namespace ron::platform::sim
