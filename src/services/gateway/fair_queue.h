// FairQueue: hands out turns to use an upstream, fairly between tenants.
//
// While one tenant is active, or slots are free and nobody waits, a turn is had at once. Otherwise
// a ticket goes through `work` to the scheduler, which keeps a line per tenant and upstream, picks
// the next one by deficit round robin whenever a slot of its upstream comes free, and passes it
// through `sched` to a worker, which hands the turn to whoever waits for it.
//
// A tenant has at most its part of the places, which is the capacity of `work` divided by the
// tenants that are active, at each upstream. What it asks for beyond that is refused at once. So
// the lines never fill, the scheduler always empties `work`, and nobody waits behind or is refused
// because of another. When tenants become active while lines are long, the longest are shortened.
//
// A ticket ends in exactly one of four ways: its owner gets the turn, is told Busy (the tenant has
// its part), is told Degraded or Draining (it was dropped, its worker failed, the server stops), or
// has given up itself (deadline, client gone), after which the turn is passed over.
//
// models/spin/drr.pml is the life of tickets in a language that checks all of its runs.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "platform/executor.h"
#include "platform/task.h"
#include "runtime/deadline.h"
#include "runtime/mpsc.h"
#include "runtime/oneshot.h"
#include "runtime/permit.h"
#include "runtime/shutdown.h"
#include "runtime/watch.h"
#include "services/gateway/drr.h"
#include "services/gateway/slot_tuner.h"
#include "services/gateway/tenant.h"

namespace ron::gateway {

class FairQueue;

// What a request asks a turn for.
struct TurnRequest {
  TenantPtr tenant;
  std::size_t lane = 0;          // of its upstream
  Cost cost = 1;                 // of the route, besides bytes and time
  std::uint64_t body_bytes = 0;  // of the request, as far as it says
  bool is_inline = false;        // cheap: it does not wait for a turn
  runtime::Deadline deadline{};
};

// The right to use an upstream now. Move-only; may be dropped on any thread. Then its slot is free,
// and the tenant is charged what it came to. The queue outlives it.
class [[nodiscard]] Turn {
 public:
  Turn() = default;
  Turn(Turn&& other) noexcept;
  Turn& operator=(Turn&& other) noexcept;
  ~Turn();

  explicit operator bool() const noexcept { return queue_ != nullptr; }
  // Bytes that went either way on behalf of the request.
  void add_bytes(std::uint64_t bytes) noexcept { bytes_ += bytes; }

  // It has one of the slots that others wait for.
  [[nodiscard]] bool has_slot() const noexcept { return static_cast<bool>(slot_); }
  // Somebody else may use it; the request goes on and is charged as before.
  void give_slot_back() noexcept;
  // The upstream has done its part: how many slots it can fill is measured by that, and not by what
  // clients break off.
  void served() noexcept { is_served_ = true; }

 private:
  friend class FairQueue;
  Turn(FairQueue& queue, const TurnRequest& request, Cost estimate, runtime::Limit::Permit slot);
  // Takes over the slot of another turn, and what was charged for that.
  void absorb(Turn other) noexcept;

  FairQueue* queue_ = nullptr;
  TenantPtr tenant_;
  runtime::Limit::Permit slot_;  // none while only one tenant is active
  std::size_t lane_ = 0;
  Cost cost_ = 0;      // of the route
  Cost estimate_ = 0;  // what its tenant was charged in advance; none if it did not wait
  std::uint64_t bytes_ = 0;
  platform::TimePoint began_{};
  bool is_served_ = false;
};

struct FairQueueSettings {
  std::size_t work_capacity;
  std::size_t sched_capacity;
  std::size_t lanes;  // upstreams
  std::size_t slots;  // of each, at most: requests at once while several tenants are active
};

class FairQueue {
 public:
  // One unit of cost.
  static constexpr std::uint64_t kBytesPerUnit = 1024;
  static constexpr base::Duration kTimePerUnit = std::chrono::microseconds(100);

  FairQueue(runtime::Topology& topology, const TenantTable& tenants, FairQueueSettings settings);
  FairQueue(const FairQueue&) = delete;
  FairQueue& operator=(const FairQueue&) = delete;

  // A turn that can be had without waiting; none otherwise. Takes no lock and allocates nothing.
  Turn try_take(const TurnRequest& request);
  // Waits for one if need be. Busy with the tenant's receipt, Degraded, Timeout or Draining.
  // Cancel-safe: whoever is aborted has given up.
  platform::Task<base::Result<Turn>> take(TurnRequest request);

  // A slot once more for a turn that gave its own back while it waited for its client: in line, as
  // everybody. Errors as of take(), and then the turn has none. Nobody waits for a slot and has
  // one: so nobody waits for ever. Cancel-safe.
  platform::Task<base::Result<>> take_again(Turn* turn, runtime::Deadline deadline);

  // The bodies of the supervised tasks: one scheduler, any number of workers. Once the scheduler
  // has been asked to stop and is gone, the queue is closed.
  platform::Task<void> schedule(runtime::Shutdown shutdown);
  platform::Task<void> work(runtime::Shutdown shutdown);
  // From now on who asks is told Draining, and so is who waits; turns that were given out are
  // delivered. Not while a scheduler runs. Idempotent.
  void close() noexcept;

  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }
  // The most slots of each lane; takes effect as turns end.
  void set_slots(std::size_t slots);
  [[nodiscard]] std::size_t slots(std::size_t lane) const noexcept {
    return lanes_[lane]->slots.most();
  }
  [[nodiscard]] std::size_t slots_in_use(std::size_t lane) const noexcept {
    return lanes_[lane]->slots.used();
  }
  // Tickets that are neither granted nor given up.
  [[nodiscard]] std::size_t waiting() const noexcept;
  // What a refused tenant is told: its share, its queue, when to come back.
  [[nodiscard]] base::Error receipt(base::Code code, std::string message,
                                    const Tenant& tenant) const;

 private:
  friend class Turn;
  using Reply = runtime::OneshotSender<std::expected<Turn, base::Code>>;
  struct Ticket {
    TurnRequest request;
    Cost estimate;
    Reply reply;
  };
  // A turn on its way to whoever waits for it. Dropped, it ends, and its owner is told.
  struct Grant {
    Turn turn;
    Reply reply;
  };
  struct Lane {
    Lane(std::size_t capacity, std::size_t most)
        : round(capacity), tuner(most), slots(tuner.slots()) {}
    DeficitRoundRobin<TenantPtr, Ticket> round;  // the scheduler's, as the next two
    SlotTuner tuner;
    bool is_backlogged = false;  // somebody waited after the last slots were given
    runtime::Limit slots;
    alignas(64) std::atomic<std::size_t> waiting = 0;
    std::atomic<std::uint64_t> ended = 0;  // turns that had a slot and were served
  };
  class Place;
  class Closing;
  static Cost estimate_of(const TurnRequest& request) noexcept;
  static void deliver(Grant grant);
  // Of one tenant at one upstream.
  [[nodiscard]] std::size_t most_places() const noexcept;
  // The scheduler's: what came into `work` joins its line; what has a slot goes on to `sched`.
  bool pull();
  void join(Ticket ticket);
  void make_room(Lane& lane);
  bool dispatch();
  bool dispatch(Lane& lane);
  void sweep();
  void charge_owed(Lane& lane, std::size_t index, const TenantPtr& tenant);
  void ring();
  void ended(Turn& turn) noexcept;
  void free_slot(Turn& turn) noexcept;

  const TenantTable& tenants_;
  const std::size_t capacity_;  // of `work`
  std::atomic<std::size_t> most_slots_;
  std::atomic<bool> closed_ = false;
  std::atomic<std::uint64_t> rings_ = 0;
  runtime::Counter& refused_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  runtime::Watch<std::uint64_t> demand_;
  runtime::Mpsc<Ticket> work_;
  runtime::Mpsc<Grant> sched_;  // last: the turns in it end with what is above
};

}  // namespace ron::gateway
