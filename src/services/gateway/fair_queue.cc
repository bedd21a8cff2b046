#include "services/gateway/fair_queue.h"

#include <algorithm>
#include <string>

#include "platform/wait.h"
#include "services/gateway/wires.h"

namespace ron::gateway {
namespace {

using base::Code;
using base::fail;
using platform::Task;
using runtime::Waited;

constexpr auto kRelaxed = std::memory_order_relaxed;
// How often the scheduler looks for flows it can forget.
constexpr base::Duration kSweep = Tenant::kActive;
// After this many moves without waiting the scheduler lets its core's sockets have their turn.
constexpr std::size_t kMovesPerTurn = 64;

platform::TimePoint now() { return platform::Executor::current()->now(); }

}  // namespace

Turn::Turn(FairQueue& queue, const TurnRequest& request, Cost estimate, runtime::Limit::Permit slot)
    : queue_(&queue),
      tenant_(request.tenant),
      slot_(std::move(slot)),
      cost_(request.cost),
      estimate_(estimate),
      bytes_(request.body_bytes),
      began_(now()) {
  tenant_->in_flight.fetch_add(1, kRelaxed);
}

Turn::Turn(Turn&& other) noexcept
    : queue_(std::exchange(other.queue_, nullptr)),
      tenant_(std::move(other.tenant_)),
      slot_(std::move(other.slot_)),
      cost_(other.cost_),
      estimate_(other.estimate_),
      bytes_(other.bytes_),
      began_(other.began_) {}

Turn& Turn::operator=(Turn&& other) noexcept {
  std::swap(queue_, other.queue_);
  std::swap(tenant_, other.tenant_);
  std::swap(slot_, other.slot_);
  std::swap(cost_, other.cost_);
  std::swap(estimate_, other.estimate_);
  std::swap(bytes_, other.bytes_);
  std::swap(began_, other.began_);
  return *this;
}

Turn::~Turn() {
  if (queue_ != nullptr) queue_->ended(*this);
}

void Turn::give_slot_back() noexcept {
  if (slot_) queue_->free(slot_);
}

FairQueue::FairQueue(runtime::Topology& topology, const TenantTable& tenants,
                     FairQueueSettings settings)
    : tenants_(tenants),
      demand_(topology, kDemand, 0),
      work_(topology, kWork, settings.work_capacity),
      sched_(topology, kSched, settings.sched_capacity) {
  for (std::size_t lane = 0; lane < settings.lanes; ++lane) {
    lanes_.push_back(std::make_unique<Lane>(settings.work_capacity, settings.slots));
  }
}

void FairQueue::set_slots(std::size_t slots) noexcept {
  for (const auto& lane : lanes_) lane->slots.set_most(slots);
}

Cost FairQueue::estimate_of(const TurnRequest& request) noexcept {
  const Cost mean = request.tenant->mean_cost.load(kRelaxed);
  return std::max(mean, request.cost + static_cast<Cost>(request.body_bytes / kBytesPerUnit));
}

Turn FairQueue::try_take(const TurnRequest& request) {
  if (request.is_inline || tenants_.active() <= 1) return {*this, request, 0, {}};
  if (waiting_.load() > 0) return {};
  runtime::Limit::Permit slot = lanes_[request.lane]->slots.try_acquire();
  if (!slot) return {};
  return {*this, request, 0, std::move(slot)};
}

Task<base::Result<Turn>> FairQueue::take(TurnRequest request) {
  Turn turn = try_take(request);
  if (turn) co_return turn;
  const TenantPtr tenant = request.tenant;
  const runtime::Deadline deadline = request.deadline;
  const Cost estimate = estimate_of(request);
  auto [sender, receiver] = runtime::oneshot<Turn>();
  // Counts the ticket as waiting until its owner has gone on, one way or another.
  struct Waits {
    std::atomic<std::size_t>& all;
    Tenant& tenant;
    Waits(std::atomic<std::size_t>& all_in, Tenant& tenant_in) : all(all_in), tenant(tenant_in) {
      all.fetch_add(1);
      tenant.queued.fetch_add(1, kRelaxed);
    }
    Waits(const Waits&) = delete;
    Waits& operator=(const Waits&) = delete;
    ~Waits() {
      all.fetch_sub(1);
      tenant.queued.fetch_sub(1, kRelaxed);
    }
  } const waits(waiting_, *tenant);
  auto sent = work_.try_send({std::move(request), estimate, std::move(sender)});
  if (!sent) {
    if (sent.error().kind == runtime::SendError<Ticket>::Kind::Closed) {
      co_return fail(Code::Draining, "the server is shutting down");
    }
    co_return fail(receipt(Code::Busy, "the work queue is full", *tenant));
  }
  ring();
  auto granted = co_await receiver.recv(deadline);
  if (granted) co_return std::move(*granted);
  if (granted.error() == Waited::TimedOut) {
    co_return fail(receipt(Code::Timeout, "no turn came before the request's deadline", *tenant));
  }
  co_return fail(receipt(Code::Degraded, "newer requests took the place of this one", *tenant));
}

base::Error FairQueue::receipt(Code code, std::string message, const Tenant& tenant) const {
  // At the rate of the last seconds, when what waits now will have been served.
  double all = 0;
  for (const TenantPtr& other : tenants_.all()) all += static_cast<double>(other->served_lately());
  const auto own = static_cast<double>(tenant.served_lately());
  base::Error error(code, std::move(message));
  error.retry_after_s = 1;
  return std::move(error)
      .with("tenant", tenant.name)
      .with("share", std::to_string(all > 0 ? own / all : 0))
      .with("quantum", std::to_string(tenant.quantum.load(kRelaxed)))
      .with("queue_depth", std::to_string(tenant.queued.load(kRelaxed)))
      .with("retry_after", "1");
}

void FairQueue::ring() { demand_.set(rings_.fetch_add(1, kRelaxed)); }

void FairQueue::ended(Turn& turn) noexcept {
  const base::Duration took = now() - turn.began_;
  const Cost cost = turn.cost_ + static_cast<Cost>(turn.bytes_ / kBytesPerUnit) +
                    static_cast<Cost>(took / kTimePerUnit);
  turn.tenant_->served(cost);
  if (turn.estimate_ > 0) turn.tenant_->owed.fetch_add(cost - turn.estimate_, kRelaxed);
  turn.tenant_->in_flight.fetch_sub(1, kRelaxed);
  free(turn.slot_);
}

// The slot is free before anybody is looked for who waits: together with take(), which is counted
// as waiting before it looks for a slot, one of the two sees the other.
void FairQueue::free(runtime::Limit::Permit& slot) noexcept {
  slot = {};
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (waiting_.load() > 0) ring();
}

bool FairQueue::pull() {
  bool moved = false;
  const auto has_room = [](const auto& lane) { return !lane->round.full(); };
  while (std::ranges::all_of(lanes_, has_room)) {
    std::optional<Ticket> ticket = work_.try_recv();
    if (!ticket) break;
    moved = true;
    if (ticket->reply.abandoned()) continue;
    const TenantPtr tenant = ticket->request.tenant;
    auto& round = lanes_[ticket->request.lane]->round;
    const Cost estimate = ticket->estimate;
    round.enqueue(tenant, std::max(1U, tenant->quantum.load(kRelaxed)), estimate,
                  std::move(*ticket));
    round.charge(tenant, tenant->owed.exchange(0, kRelaxed));
    tenant->deficit.store(round.deficit(tenant), kRelaxed);
  }
  return moved;
}

bool FairQueue::dispatch() {
  bool moved = false;
  for (const auto& lane : lanes_) {
    while (!lane->round.empty()) {
      runtime::Limit::Permit slot = lane->slots.try_acquire();
      if (!slot) break;
      std::optional<Ticket> ticket = lane->round.next();
      moved = true;
      const TenantPtr tenant = ticket->request.tenant;
      tenant->deficit.store(lane->round.deficit(tenant), kRelaxed);
      if (ticket->reply.abandoned()) continue;
      Turn turn(*this, ticket->request, ticket->estimate, std::move(slot));
      // Whoever is dropped to make room is told so by losing its reply.
      static_cast<void>(sched_.try_send({std::move(turn), std::move(ticket->reply)}));
    }
  }
  return moved;
}

Task<void> FairQueue::schedule(runtime::Shutdown shutdown) {
  auto demand = demand_.subscribe();
  platform::TimePoint sweep_at = now() + kSweep;
  std::size_t moves = 0;
  for (;;) {
    demand.see();
    const bool pulled = pull();
    const bool dispatched = dispatch();
    if (now() >= sweep_at) {
      const auto is_idle = [at = now()](const TenantPtr& tenant) { return !tenant->is_active(at); };
      for (const auto& lane : lanes_) lane->round.forget_idle(is_idle);
      sweep_at = now() + kSweep;
    }
    if (pulled || dispatched) {
      if (++moves % kMovesPerTurn == 0) co_await platform::Yield();
      continue;
    }
    const Waited waited = co_await demand.changed(runtime::Deadline(sweep_at), shutdown);
    if (waited == Waited::Stopped || waited == Waited::Closed) co_return;
  }
}

Task<void> FairQueue::work(runtime::Shutdown shutdown) {
  std::size_t given = 0;
  for (;;) {
    auto grant = co_await sched_.recv_or_stop(shutdown);
    if (!grant) co_return;
    // Handed back when nobody waits any more: then it ends here.
    static_cast<void>(std::move(grant->reply).send(std::move(grant->turn)));
    if (++given % kMovesPerTurn == 0) co_await platform::Yield();
  }
}

}  // namespace ron::gateway
