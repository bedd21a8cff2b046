// ClientPool: the connections of one executor to its upstreams.
//
// Bounded per endpoint: connections (in use, idle and being opened together), idle ones, and
// requests that wait for one; of all endpoints together, idle ones. Waiting is first come first
// served: a connection that comes free, or the place of one that was dropped, is handed to the
// first in line. Endpoints without connections and waiters are forgotten.
//
// One executor, the one of its first use. Outlives its leases and those who wait for one; its
// destructor asserts that.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "http/client_link.h"
#include "http/client_metrics.h"
#include "http/client_request.h"
#include "http/client_settings.h"
#include "http/wire.h"
#include "platform/net.h"
#include "platform/task.h"
#include "runtime/deadline.h"

namespace ron::http {

// Where connections go, and how they are secured.
struct Upstream {
  platform::Endpoint endpoint;
  std::string tls_host{};  // empty: not at all
};
// The same, of the caller's memory.
struct UpstreamView {
  const platform::Endpoint& endpoint;
  std::string_view tls_host;
};

class ClientPool : private platform::Timer {
 private:
  struct Slot;

 public:
  ClientPool(platform::Net& net, const ClientSettings& settings, ClientMeters& meters);
  ClientPool(const ClientPool&) = delete;
  ClientPool& operator=(const ClientPool&) = delete;
  ~ClientPool();

  // A connection for one exchange. Dropping it closes the connection; keep() saves it for the next.
  class [[nodiscard]] Lease {
   public:
    Lease() = default;
    Lease(Lease&& other) noexcept
        : pool_(std::exchange(other.pool_, nullptr)),
          slot_(std::exchange(other.slot_, nullptr)),
          link_(std::move(other.link_)) {}
    Lease& operator=(Lease&& other) noexcept {
      std::swap(pool_, other.pool_);
      std::swap(slot_, other.slot_);
      std::swap(link_, other.link_);
      return *this;
    }
    ~Lease() { drop(); }

    explicit operator bool() const noexcept { return pool_ != nullptr; }
    [[nodiscard]] ClientLink& link() noexcept { return *link_; }
    // It has carried a request before, so the upstream may have closed it meanwhile.
    [[nodiscard]] bool reused() const noexcept { return link_->reused; }

    // Closes the connection and opens another in its place, without giving up the turn.
    // UpstreamFail, Timeout or Canceled. Cancel-safe.
    platform::Task<base::Result<>> reconnect(runtime::Deadline deadline,
                                             base::Duration connect_timeout);
    // The exchange is complete: the connection may serve another.
    void keep() noexcept;
    void drop() noexcept;

   private:
    friend class ClientPool;
    Lease(ClientPool* pool, Slot* slot, std::unique_ptr<ClientLink> link) noexcept;
    std::unique_ptr<ClientLink> take_link() noexcept;

    ClientPool* pool_ = nullptr;
    Slot* slot_ = nullptr;
    std::unique_ptr<ClientLink> link_;
  };

  // An idle connection, if there is one.
  [[nodiscard]] Lease take_idle(UpstreamView upstream) noexcept;
  // An idle connection, a new one, or the next that comes free. A new one has `connect_timeout` to
  // come about, and `progress`, if there is one, is told when that begins: until then it is others
  // of this pool who are waited for. Busy when too many wait already; UpstreamFail, Timeout or
  // Canceled otherwise. Cancel-safe: an aborted wait holds nothing.
  platform::Task<base::Result<Lease>> acquire(Upstream upstream, runtime::Deadline deadline,
                                              base::Duration connect_timeout,
                                              SendProgress* progress = nullptr);

  // A request that is on its way to acquire(): close() waits for it.
  class [[nodiscard]] Guest {
   public:
    explicit Guest(ClientPool& pool) noexcept : pool_(pool) { ++pool_.waiting_; }
    Guest(const Guest&) = delete;
    Guest& operator=(const Guest&) = delete;
    ~Guest() {
      --pool_.waiting_;
      pool_.tell_closer();
    }

   private:
    ClientPool& pool_;
  };

  // Refuses new work, lets go of idle connections and waits for those in use; at the deadline cuts
  // them, and says how many it cut. Once. Cancel-safe.
  platform::Task<std::size_t> close(runtime::Deadline deadline);

  [[nodiscard]] BufferPool& buffers() noexcept { return buffers_; }

 private:
  struct Waiting;
  struct Slot {
    Upstream upstream;
    std::size_t open = 0;                           // in use, idle and being opened
    std::vector<std::unique_ptr<ClientLink>> idle;  // the longest idle first
    Waiting* first = nullptr;
    Waiting* last = nullptr;
    std::size_t waiting = 0;
  };

  static void fired(platform::Timer& timer) noexcept;
  platform::Task<base::Result<Lease>> wait_turn(Slot* slot, runtime::Deadline deadline);
  Slot& slot_of(const Upstream& upstream);
  std::unique_ptr<ClientLink> take_idle_link(Slot& slot) noexcept;
  void give_back(Slot& slot, std::unique_ptr<ClientLink> link) noexcept;
  void put_idle(Slot& slot, std::unique_ptr<ClientLink> link) noexcept;
  void drop_longest_idle() noexcept;
  void close_place(Slot& slot) noexcept;
  void tell_closer() noexcept;
  void unlink(Waiting& waiting) noexcept;
  void sweep(platform::TimePoint not_after) noexcept;
  void start_using(ClientLink& link) noexcept;
  void stop_using(ClientLink& link) noexcept;
  base::Result<std::unique_ptr<platform::Stream>> open(const Upstream& upstream);
  base::Error not_connected(const Slot& slot, LinkEnd end, int error);
  base::Error canceled();

  platform::Net& net_;
  const ClientSettings& settings_;
  ClientMeters& meters_;
  platform::Executor* home_ = nullptr;  // of the first use
  BufferPool buffers_;
  struct ByUpstream {
    using is_transparent = void;
    template <class A, class B>
    bool operator()(const A& a, const B& b) const noexcept {
      const auto order = a.endpoint <=> b.endpoint;
      return order != 0 ? order < 0 : std::string_view(a.tls_host) < std::string_view(b.tls_host);
    }
  };
  std::map<Upstream, Slot, ByUpstream> slots_;
  ClientLink* in_use_ = nullptr;  // a list
  std::size_t busy_ = 0;          // places that are not idle
  std::size_t idle_ = 0;          // connections that are, of all endpoints
  std::size_t waiting_ = 0;       // requests in line, of all endpoints, and guests
  bool closing_ = false;
  platform::Waiter* closer_ = nullptr;  // close(), waiting for the last of them
};

}  // namespace ron::http
