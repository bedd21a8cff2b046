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
// The scheduler takes this many tickets in before it looks for free slots again.
constexpr std::size_t kPulls = 64;
// A refused tenant is told to come back within this time.
constexpr std::uint32_t kLongestRetryS = 60;

platform::TimePoint now() { return platform::Executor::current()->now(); }

}  // namespace

// Counts its owner as waiting until it has gone on, one way or another.
class FairQueue::Place {
 public:
  Place(Lane& lane, Tenant::Line& line) noexcept
      : lane_(lane), line_(line), before_(line.queued.fetch_add(1, kRelaxed)) {
    lane_.waiting.fetch_add(1, std::memory_order_acq_rel);
  }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  ~Place() {
    lane_.waiting.fetch_sub(1, kRelaxed);
    line_.queued.fetch_sub(1, kRelaxed);
  }
  // How many of the same tenant waited already.
  [[nodiscard]] std::size_t before() const noexcept { return before_; }

 private:
  Lane& lane_;
  Tenant::Line& line_;
  const std::size_t before_;
};

// In the scheduler's frame: closes the queue when it goes because of a stop, aborted or not. One
// that failed is started again and goes on with what is in the lines.
class FairQueue::Closing {
 public:
  Closing(FairQueue& queue, runtime::Shutdown shutdown) noexcept
      : queue_(queue), shutdown_(std::move(shutdown)) {}
  Closing(const Closing&) = delete;
  Closing& operator=(const Closing&) = delete;
  ~Closing() {
    if (shutdown_.requested()) queue_.close();
  }

 private:
  FairQueue& queue_;
  runtime::Shutdown shutdown_;
};

Turn::Turn(FairQueue& queue, const TurnRequest& request, Cost estimate, runtime::Limit::Permit slot)
    : queue_(&queue),
      tenant_(request.tenant),
      slot_(std::move(slot)),
      lane_(request.lane),
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
      lane_(other.lane_),
      cost_(other.cost_),
      estimate_(other.estimate_),
      bytes_(other.bytes_),
      began_(other.began_),
      is_served_(other.is_served_) {}

Turn& Turn::operator=(Turn&& other) noexcept {
  std::swap(queue_, other.queue_);
  std::swap(tenant_, other.tenant_);
  std::swap(slot_, other.slot_);
  std::swap(lane_, other.lane_);
  std::swap(cost_, other.cost_);
  std::swap(estimate_, other.estimate_);
  std::swap(bytes_, other.bytes_);
  std::swap(began_, other.began_);
  std::swap(is_served_, other.is_served_);
  return *this;
}

Turn::~Turn() {
  if (queue_ != nullptr) queue_->ended(*this);
}

void Turn::give_slot_back() noexcept {
  if (queue_ != nullptr) queue_->free_slot(*this);
}

void Turn::absorb(Turn other) noexcept {
  slot_ = std::move(other.slot_);
  estimate_ += other.estimate_;
  other.tenant_->in_flight.fetch_sub(1, kRelaxed);
  other.queue_ = nullptr;
}

FairQueue::FairQueue(runtime::Topology& topology, const TenantTable& tenants,
                     FairQueueSettings settings)
    : tenants_(tenants),
      capacity_(settings.work_capacity),
      most_slots_(settings.slots),
      refused_(topology.meters().counter(runtime::metrics::kQueueDroppedTotal, {kWork.name})),
      demand_(topology, kDemand, 0),
      work_(topology, kWork, settings.work_capacity),
      sched_(topology, kSched, settings.sched_capacity) {
  for (std::size_t lane = 0; lane < settings.lanes; ++lane) {
    // Twice the capacity: tickets whose owners have left stay in line until they are passed over.
    lanes_.push_back(std::make_unique<Lane>(2 * capacity_, settings.slots));
  }
}

void FairQueue::set_slots(std::size_t slots) {
  most_slots_.store(slots, kRelaxed);
  ring();
}

std::size_t FairQueue::waiting() const noexcept {
  std::size_t sum = 0;
  for (const auto& lane : lanes_) sum += lane->waiting.load(kRelaxed);
  return sum;
}

std::size_t FairQueue::most_places() const noexcept {
  return std::max<std::size_t>(1, capacity_ / std::max<std::size_t>(1, tenants_.active()));
}

Cost FairQueue::estimate_of(const TurnRequest& request) noexcept {
  return std::max(request.tenant->mean_cost(),
                  request.cost + static_cast<Cost>(request.body_bytes / kBytesPerUnit));
}

Turn FairQueue::try_take(const TurnRequest& request) {
  if (request.is_inline || tenants_.active() <= 1) return {*this, request, 0, {}};
  Lane& lane = *lanes_[request.lane];
  if (lane.waiting.load(kRelaxed) > 0) return {};
  runtime::Limit::Permit slot = lane.slots.try_acquire();
  if (!slot) return {};
  return {*this, request, 0, std::move(slot)};
}

Task<base::Result<Turn>> FairQueue::take(TurnRequest request) {
  Turn turn = try_take(request);
  if (turn) co_return turn;
  const TenantPtr tenant = request.tenant;
  const runtime::Deadline deadline = request.deadline;
  const Cost estimate = estimate_of(request);
  const Place place(*lanes_[request.lane], tenant->line(request.lane));
  if (place.before() >= most_places()) {
    refused_.add();
    co_return fail(receipt(Code::Busy, "the tenant's queue is full", *tenant));
  }
  auto [sender, receiver] = runtime::oneshot<std::expected<Turn, Code>>();
  auto sent = work_.try_send({std::move(request), estimate, std::move(sender)});
  if (!sent) {
    if (sent.error().kind == runtime::SendError<Ticket>::Kind::Closed) {
      co_return fail(Code::Draining, "the server is shutting down");
    }
    co_return fail(receipt(Code::Busy, "the work queue is full", *tenant));
  }
  ring();
  auto granted = co_await receiver.recv(deadline);
  if (granted && *granted) co_return std::move(**granted);
  if (granted) {
    co_return fail(receipt(granted->error(), "too many requests of the tenant wait", *tenant));
  }
  if (granted.error() == Waited::TimedOut) {
    co_return fail(receipt(Code::Timeout, "no turn came before the request's deadline", *tenant));
  }
  if (closed_.load()) co_return fail(Code::Draining, "the server is shutting down");
  co_return fail(receipt(Code::Degraded, "newer requests took the place of this one", *tenant));
}

Task<base::Result<>> FairQueue::take_again(Turn* turn, runtime::Deadline deadline) {
  TurnRequest request{.tenant = turn->tenant_, .lane = turn->lane_, .deadline = deadline};
  base::Result<Turn> again = co_await take(std::move(request));
  if (!again) co_return fail(std::move(again.error()));
  turn->absorb(std::move(*again));
  co_return base::Result<>();
}

base::Error FairQueue::receipt(Code code, std::string message, const Tenant& tenant) const {
  const auto own = static_cast<double>(tenant.served_lately());
  const double all = std::max(own, static_cast<double>(tenants_.served_lately()));
  const std::uint32_t queued = tenant.queued();
  // At the rate of the last second, when what waits now will have been served.
  const Cost rate = std::max<Cost>(1, tenant.served_last_second());
  const Cost seconds = (static_cast<Cost>(queued) * tenant.mean_cost() + rate - 1) / rate;
  base::Error error(code, std::move(message));
  error.retry_after_s = static_cast<std::uint32_t>(std::clamp<Cost>(seconds, 1, kLongestRetryS));
  std::string retry_after = std::to_string(error.retry_after_s);
  return std::move(error)
      .with("tenant", tenant.name)
      .with("share", std::to_string(all > 0 ? own / all : 0))
      .with("quantum", std::to_string(tenant.quantum.load(kRelaxed)))
      .with("queue_depth", std::to_string(queued))
      .with("retry_after", std::move(retry_after));
}

void FairQueue::ring() { demand_.set(rings_.fetch_add(1, kRelaxed)); }

void FairQueue::ended(Turn& turn) noexcept {
  const platform::Executor* here = platform::Executor::current();
  // Cores read their clocks at different moments; a thread that is no core has none.
  const base::Duration took =
      here == nullptr ? base::Duration{} : std::max(base::Duration{}, here->now() - turn.began_);
  const Cost cost = turn.cost_ + static_cast<Cost>(turn.bytes_ / kBytesPerUnit) +
                    static_cast<Cost>(took / kTimePerUnit);
  Tenant& tenant = *turn.tenant_;
  tenant.served(cost);
  if (turn.estimate_ > 0) tenant.line(turn.lane_).owed.fetch_add(cost - turn.estimate_, kRelaxed);
  tenant.in_flight.fetch_sub(1, kRelaxed);
  free_slot(turn);
}

// The slot is free before anybody is looked for who waits, and whoever waits is counted before a
// slot is looked for on its behalf. Both change `waiting`, so one of the two comes second and sees
// what the other did before.
void FairQueue::free_slot(Turn& turn) noexcept {
  if (!turn.slot_) return;
  Lane& lane = *lanes_[turn.lane_];
  if (turn.is_served_) lane.ended.fetch_add(1, kRelaxed);
  turn.slot_ = {};
  if (lane.waiting.fetch_add(0, std::memory_order_acq_rel) > 0) ring();
}

bool FairQueue::pull() {
  for (std::size_t pulled = 0; pulled < kPulls; ++pulled) {
    std::optional<Ticket> ticket = work_.try_recv();
    if (!ticket) return pulled > 0;
    if (!ticket->reply.abandoned()) join(std::move(*ticket));
  }
  return true;
}

void FairQueue::join(Ticket ticket) {
  Lane& lane = *lanes_[ticket.request.lane];
  if (lane.round.full()) make_room(lane);
  if (lane.round.full()) {
    refused_.add();
    static_cast<void>(std::move(ticket.reply).send(std::unexpected(Code::Busy)));
    return;
  }
  const std::size_t index = ticket.request.lane;
  const TenantPtr tenant = ticket.request.tenant;
  const Cost estimate = ticket.estimate;
  const std::uint32_t quantum = std::max(1U, tenant->quantum.load(kRelaxed));
  lane.round.enqueue(tenant, quantum, estimate, std::move(ticket));
  charge_owed(lane, index, tenant);
}

// Half of the places at least are free afterwards, unless more tenants than that wait: so it costs
// each ticket little.
void FairQueue::make_room(Lane& lane) {
  lane.round.remove_if([](const Ticket& ticket) { return ticket.reply.abandoned(); });
  lane.round.shorten(capacity_, [this](Ticket ticket) {
    refused_.add();
    static_cast<void>(std::move(ticket.reply).send(std::unexpected(Code::Busy)));
  });
}

void FairQueue::charge_owed(Lane& lane, std::size_t index, const TenantPtr& tenant) {
  lane.round.charge(tenant, tenant->line(index).owed.exchange(0, kRelaxed));
  tenant->deficit.store(lane.round.deficit(tenant), kRelaxed);
}

bool FairQueue::dispatch() {
  bool moved = false;
  for (const auto& lane : lanes_) moved = dispatch(*lane) || moved;
  return moved;
}

bool FairQueue::dispatch(Lane& lane) {
  lane.tuner.set_most(most_slots_.load(kRelaxed));
  lane.tuner.observe(now(), lane.ended.load(kRelaxed), lane.is_backlogged);
  lane.slots.set_most(lane.tuner.slots());
  bool moved = false;
  while (!lane.round.empty()) {
    runtime::Limit::Permit slot = lane.slots.try_acquire();
    if (!slot) break;
    std::optional<Ticket> ticket = lane.round.next();
    moved = true;
    charge_owed(lane, ticket->request.lane, ticket->request.tenant);
    if (ticket->reply.abandoned()) continue;
    Turn turn(*this, ticket->request, ticket->estimate, std::move(slot));
    // Whoever is dropped to make room is told so by losing its reply.
    static_cast<void>(sched_.try_send({std::move(turn), std::move(ticket->reply)}));
  }
  lane.is_backlogged = !lane.round.empty();
  return moved;
}

void FairQueue::sweep() {
  const auto is_idle = [at = now()](const TenantPtr& tenant) { return !tenant->is_active(at); };
  for (const auto& lane : lanes_) lane->round.forget_idle(is_idle);
}

Task<void> FairQueue::schedule(runtime::Shutdown shutdown) {
  const Closing closing(*this, shutdown);
  auto demand = demand_.subscribe();
  platform::TimePoint sweep_at = now() + kSweep;
  while (!shutdown.requested()) {
    demand.see();
    const bool pulled = pull();
    const bool dispatched = dispatch();
    if (now() >= sweep_at) {
      sweep();
      sweep_at = now() + kSweep;
    }
    if (pulled || dispatched) {
      runtime::count_item();
      if (runtime::turn_is_over()) co_await platform::Yield();
      continue;
    }
    const Waited waited = co_await demand.changed(runtime::Deadline(sweep_at), shutdown);
    if (waited == Waited::Closed) co_return;
  }
}

// Handed back when nobody waits any more: then the turn ends here.
void FairQueue::deliver(Grant grant) {
  static_cast<void>(std::move(grant.reply).send(std::move(grant.turn)));
}

Task<void> FairQueue::work(runtime::Shutdown shutdown) {
  for (;;) {
    auto grant = co_await sched_.recv_or_stop(shutdown);
    if (!grant) co_return;
    deliver(std::move(*grant));
  }
}

void FairQueue::close() noexcept {
  closed_.store(true);
  work_.close();
  while (work_.try_recv()) {
  }
  for (const auto& lane : lanes_) lane->round.remove_if([](const Ticket&) { return true; });
  sched_.close();
  while (auto grant = sched_.try_recv()) deliver(std::move(*grant));
}

}  // namespace ron::gateway
