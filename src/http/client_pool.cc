#include "http/client_pool.h"

#include <algorithm>
#include <cassert>
#include <string>
#include <system_error>
#include <utility>

#include "platform/executor.h"
#include "platform/wait.h"
#include "runtime/metric_names.h"

namespace ron::http {

using base::Code;
using base::fail;
using platform::TimePoint;

ClientMeters::ClientMeters(runtime::Meters& meters)
    : active(meters.gauge(metrics::kClientConnections, {"active"})),
      idle(meters.gauge(metrics::kClientConnections, {"idle"})),
      resolve_errors(meters.counter(metrics::kUpstreamErrorsTotal, {"resolve"})),
      connect_errors(meters.counter(metrics::kUpstreamErrorsTotal, {"connect"})),
      timeouts(meters.counter(metrics::kUpstreamErrorsTotal, {"timeout"})),
      closed(meters.counter(metrics::kUpstreamErrorsTotal, {"closed"})),
      malformed(meters.counter(metrics::kUpstreamErrorsTotal, {"malformed"})),
      busy(meters.counter(metrics::kUpstreamErrorsTotal, {"busy"})),
      canceled(meters.counter(metrics::kUpstreamErrorsTotal, {"canceled"})),
      stale_retries(meters.counter(metrics::kStaleRetriesTotal)),
      connect_timeouts(meters.counter(runtime::metrics::kIoTimeoutsTotal, {"connect"})),
      read_timeouts(meters.counter(runtime::metrics::kIoTimeoutsTotal, {"read"})),
      write_timeouts(meters.counter(runtime::metrics::kIoTimeoutsTotal, {"write"})) {}

// A request in line. Lives in its frame; what it was granted and did not take goes to the next.
struct ClientPool::Waiting {
  Waiting(ClientPool& owner, Slot& where) noexcept : pool(owner), slot(where) {
    previous = slot.last;
    (slot.last != nullptr ? slot.last->next : slot.first) = this;
    slot.last = this;
    ++slot.waiting;
    ++pool.waiting_;
  }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;
  ~Waiting() {
    waiter.take_back();
    if (linked) pool.unlink(*this);
    if (granted) pool.give_back(slot, std::move(link));
    --pool.waiting_;
    pool.tell_closer();
  }

  ClientPool& pool;
  Slot& slot;
  platform::Parker parker;
  platform::Waiter waiter{parker};
  Waiting* previous = nullptr;
  Waiting* next = nullptr;
  bool linked = true;
  bool granted = false;
  std::unique_ptr<ClientLink> link;
};

ClientPool::ClientPool(platform::Net& net, const ClientSettings& settings, ClientMeters& meters)
    : Timer(&ClientPool::fired), net_(net), settings_(settings), meters_(meters) {}

ClientPool::~ClientPool() {
  assert(busy_ == 0 && "a pool outlives its leases");
  assert(waiting_ == 0 && "a pool outlives those who wait for it");
  sweep(platform::kNever);
  if (armed()) home_->disarm(*this);
}

ClientPool::Lease::Lease(ClientPool* pool, Slot* slot, std::unique_ptr<ClientLink> link) noexcept
    : pool_(pool), slot_(slot), link_(std::move(link)) {
  if (link_) pool_->start_using(*link_);
}

std::unique_ptr<ClientLink> ClientPool::Lease::take_link() noexcept {
  if (link_) pool_->stop_using(*link_);
  return std::move(link_);
}

void ClientPool::Lease::keep() noexcept {
  if (pool_ == nullptr) return;
  std::unique_ptr<ClientLink> link = take_link();
  if (link && (link->canceled() || !link->wire().pending().empty())) link.reset();
  std::exchange(pool_, nullptr)->give_back(*slot_, std::move(link));
}

void ClientPool::Lease::drop() noexcept {
  if (pool_ == nullptr) return;
  take_link().reset();
  keep();
}

platform::Task<base::Result<>> ClientPool::Lease::reconnect(runtime::Deadline deadline,
                                                            base::Duration connect_timeout) {
  take_link().reset();
  if (pool_->closing_) co_return fail(pool_->canceled());
  auto stream = pool_->open(slot_->upstream);
  if (!stream) {
    pool_->meters_.connect_errors.add();
    co_return fail(std::move(stream.error()));
  }
  link_ = std::make_unique<ClientLink>(std::move(*stream), pool_->buffers_);
  pool_->start_using(*link_);
  const auto until = deadline.sooner(runtime::Deadline::in(connect_timeout));
  const LinkEnd end = co_await link_->establish(until.at());
  if (end != LinkEnd::None) co_return fail(pool_->not_connected(*slot_, end, link_->error()));
  if (!link_->stream().needs_handshake()) co_return base::Result<>();
  base::Result<> agreed = co_await link_->stream().handshake(until.at());
  if (agreed) co_return agreed;
  if (link_->canceled()) co_return fail(pool_->canceled());
  const bool late = agreed.error().code == Code::Timeout;
  (late ? pool_->meters_.timeouts : pool_->meters_.connect_errors).add();
  co_return agreed;
}

base::Result<std::unique_ptr<platform::Stream>> ClientPool::open(const Upstream& upstream) {
  if (!upstream.tls_host.empty() && !settings_.tls) {
    return fail(Code::Malformed, "this client does not speak TLS");
  }
  auto stream = net_.connect(upstream.endpoint);
  if (!stream || upstream.tls_host.empty()) return stream;
  return settings_.tls->secure(std::move(*stream), upstream.tls_host,
                               settings_.clock->unix_ms() / 1000);
}

base::Error ClientPool::not_connected(const Slot& slot, LinkEnd end, int error) {
  const std::string target = slot.upstream.endpoint.text();
  if (end == LinkEnd::Canceled) return canceled();
  if (end == LinkEnd::TimedOut) {
    meters_.connect_timeouts.add();
    meters_.timeouts.add();
    return {Code::Timeout, "connecting to " + target + " took too long"};
  }
  meters_.connect_errors.add();
  return {Code::UpstreamFail,
          "cannot connect to " + target + ": " + std::generic_category().message(error)};
}

base::Error ClientPool::canceled() {
  meters_.canceled.add();
  return {Code::Canceled, "the client is shutting down"};
}

ClientPool::Slot& ClientPool::slot_of(const Upstream& upstream) {
  Slot& slot = slots_[upstream];
  slot.upstream = upstream;
  return slot;
}

ClientPool::Lease ClientPool::take_idle(UpstreamView upstream) noexcept {
  const auto found = slots_.find(upstream);
  if (found == slots_.end()) return {};
  std::unique_ptr<ClientLink> idle = take_idle_link(found->second);
  if (!idle) return {};
  ++busy_;
  return {this, &found->second, std::move(idle)};
}

platform::Task<base::Result<ClientPool::Lease>> ClientPool::acquire(Upstream upstream,
                                                                    runtime::Deadline deadline,
                                                                    base::Duration connect_timeout,
                                                                    SendProgress* progress) {
  if (closing_) co_return fail(canceled());
  if (home_ == nullptr) home_ = platform::Executor::current();
  assert(home_ == platform::Executor::current() && "a pool belongs to one executor");
  Slot& slot = slot_of(upstream);
  Lease lease;
  if (std::unique_ptr<ClientLink> idle = take_idle_link(slot)) {
    ++busy_;
    lease = Lease(this, &slot, std::move(idle));
    co_return std::move(lease);
  }
  if (slot.open < settings_.max_connections) {
    ++slot.open;
    ++busy_;
    lease = Lease(this, &slot, nullptr);
  } else if (slot.waiting >= settings_.max_waiting) {
    meters_.busy.add();
    co_return fail(base::Error(Code::Busy, "too many requests wait for " + upstream.endpoint.text())
                       .with("max_waiting", std::to_string(settings_.max_waiting)));
  } else {
    base::Result<Lease> turn = co_await wait_turn(&slot, deadline);
    if (!turn) co_return fail(std::move(turn.error()));
    lease = std::move(*turn);
    if (lease.link_ && lease.link_->fresh()) co_return std::move(lease);
  }
  if (progress != nullptr) {
    progress->waits_since = std::min(progress->waits_since, home_->now());
  }
  const base::Result<> connected = co_await lease.reconnect(deadline, connect_timeout);
  if (!connected) co_return fail(connected.error());
  co_return std::move(lease);
}

platform::Task<base::Result<ClientPool::Lease>> ClientPool::wait_turn(Slot* slot,
                                                                      runtime::Deadline deadline) {
  Waiting waiting(*this, *slot);
  co_await waiting.parker.park(deadline.at());
  if (closing_) co_return fail(canceled());
  if (std::exchange(waiting.granted, false)) {
    co_return Lease(this, slot, std::move(waiting.link));
  }
  meters_.connect_timeouts.add();
  meters_.timeouts.add();
  co_return fail(Code::Timeout,
                 "no connection to " + slot->upstream.endpoint.text() + " came free in time");
}

// The connection used last is the least likely to be stale.
std::unique_ptr<ClientLink> ClientPool::take_idle_link(Slot& slot) noexcept {
  while (!slot.idle.empty()) {
    std::unique_ptr<ClientLink> link = std::move(slot.idle.back());
    slot.idle.pop_back();
    --idle_;
    meters_.idle.add(-1);
    if (link->fresh()) return link;
    --slot.open;
  }
  return nullptr;
}

// A place, with its connection if that is still good, goes to the first in line.
void ClientPool::give_back(Slot& slot, std::unique_ptr<ClientLink> link) noexcept {
  if (link) {
    link->reused = true;
    link->wire().unwatch();
    link->wire().release_if_empty();
  }
  if (slot.first != nullptr && !closing_) {
    Waiting& next = *slot.first;
    unlink(next);
    next.granted = true;
    next.link = std::move(link);
    next.waiter.wake();
  } else if (link && !closing_ && slot.idle.size() < settings_.max_idle) {
    put_idle(slot, std::move(link));
  } else {
    link.reset();
    --busy_;
    close_place(slot);
    tell_closer();
  }
}

void ClientPool::put_idle(Slot& slot, std::unique_ptr<ClientLink> link) noexcept {
  --busy_;
  link->idle_since = home_->now();
  if (!armed()) home_->arm(*this, link->idle_since + settings_.idle_timeout);
  slot.idle.push_back(std::move(link));
  ++idle_;
  meters_.idle.add(1);
  if (idle_ > settings_.max_idle_total) drop_longest_idle();  // may be this one, and its slot
}

// Looks at every endpoint that has connections: few, since those that are idle are bounded here.
void ClientPool::drop_longest_idle() noexcept {
  const auto since = [](const auto& entry) {
    const Slot& slot = entry.second;
    return slot.idle.empty() ? platform::kNever : slot.idle.front()->idle_since;
  };
  Slot& slot = std::ranges::min_element(slots_, {}, since)->second;
  slot.idle.erase(slot.idle.begin());
  --idle_;
  meters_.idle.add(-1);
  close_place(slot);
}

void ClientPool::close_place(Slot& slot) noexcept {
  if (--slot.open == 0 && slot.first == nullptr) slots_.erase(slots_.find(slot.upstream));
}

void ClientPool::tell_closer() noexcept {
  if (busy_ + waiting_ == 0 && closer_ != nullptr) std::exchange(closer_, nullptr)->wake();
}

void ClientPool::unlink(Waiting& waiting) noexcept {
  Slot& slot = waiting.slot;
  (waiting.previous != nullptr ? waiting.previous->next : slot.first) = waiting.next;
  (waiting.next != nullptr ? waiting.next->previous : slot.last) = waiting.previous;
  waiting.linked = false;
  --slot.waiting;
}

void ClientPool::fired(platform::Timer& timer) noexcept {
  auto& pool = static_cast<ClientPool&>(timer);
  pool.sweep(pool.home_->now() - pool.settings_.idle_timeout);
}

// Closes connections idle since `not_after` or longer, and comes back for the next one.
void ClientPool::sweep(TimePoint not_after) noexcept {
  TimePoint oldest = platform::kNever;
  for (auto entry = slots_.begin(); entry != slots_.end();) {
    Slot& slot = entry++->second;  // closing its last connection erases it
    const auto keep = std::ranges::find_if(
        slot.idle, [&](const auto& link) { return link->idle_since > not_after; });
    const auto expired = static_cast<std::size_t>(keep - slot.idle.begin());
    slot.idle.erase(slot.idle.begin(), keep);
    idle_ -= expired;
    meters_.idle.add(-static_cast<std::int64_t>(expired));
    if (!slot.idle.empty()) oldest = std::min(oldest, slot.idle.front()->idle_since);
    for (std::size_t i = 0; i < expired; ++i) close_place(slot);
  }
  if (oldest != platform::kNever) home_->arm(*this, oldest + settings_.idle_timeout);
}

void ClientPool::start_using(ClientLink& link) noexcept {
  link.previous = nullptr;
  link.next = in_use_;
  if (in_use_ != nullptr) in_use_->previous = &link;
  in_use_ = &link;
  meters_.active.add(1);
}

void ClientPool::stop_using(ClientLink& link) noexcept {
  (link.previous != nullptr ? link.previous->next : in_use_) = link.next;
  if (link.next != nullptr) link.next->previous = link.previous;
  meters_.active.add(-1);
}

platform::Task<std::size_t> ClientPool::close(runtime::Deadline deadline) {
  closing_ = true;
  for (auto& [upstream, slot] : slots_) {
    while (slot.first != nullptr) {
      Waiting& waiting = *slot.first;
      unlink(waiting);
      waiting.waiter.wake();
    }
  }
  sweep(platform::kNever);
  platform::Parker parker;
  platform::Waiter waiter(parker);
  struct Closing {
    ClientPool* pool;
    platform::Waiter* waiter;
    ~Closing() {
      pool->closer_ = nullptr;
      waiter->take_back();
    }
  } const closing{this, &waiter};
  std::size_t cut = 0;
  while (busy_ + waiting_ > 0) {
    closer_ = &waiter;
    const bool in_time = co_await parker.park(deadline.at());
    if (in_time) continue;
    for (ClientLink* link = in_use_; link != nullptr; link = link->next, ++cut) link->cancel();
    break;
  }
  co_return cut;
}

}  // namespace ron::http
