#include "services/gateway/core.h"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <mutex>
#include <string>
#include <utility>

#include "runtime/deadline.h"
#include "runtime/waiting.h"
#include "services/gateway/metric_names.h"
#include "services/kit/cors.h"
#include "services/kit/handlers.h"

namespace ron::gateway {
namespace {

using http::Response;
using platform::Task;
using runtime::Deadline;
using runtime::Shutdown;
using runtime::Waited;
using namespace std::chrono_literals;

constexpr base::Duration kTick = 1s;
constexpr base::Duration kLook = 100ms;
constexpr std::size_t kMostWorkers = 8;
// For a connection to an upstream. Requests in flight are bounded by server.max_inflight, which may
// be raised while the clients live: nobody is refused once more behind it. As much as that may be.
constexpr std::size_t kMostWaiting = 1'000'000;
// How long a turn is not asked for because the first part of a large body is yet to come.
constexpr base::Duration kFirstPart = 100ms;
// For connections to upstreams that something still uses when nobody should.
constexpr base::Duration kLastWords = 1s;

// A small body is all there is to send. A service of the process may refuse it unread.
base::Duration first_part_within(const Upstream& upstream, const http::BodyReader& body) noexcept {
  return body.may_be_large() || upstream.is_in_process() ? kFirstPart : base::Duration::max();
}

std::size_t workers_of(const GatewayConfig& config, std::size_t cores) noexcept {
  if (config.workers > 0) return config.workers;
  return std::min(cores, kMostWorkers);
}

TenantLimits limits_of(const GatewayConfig& config) {
  return {.default_quantum = static_cast<std::uint32_t>(config.drr.default_quantum),
          .quanta = config.drr.tenant_quanta,
          .rps = config.drr.rate_limit_rps};
}

http::ClientSettings client_settings(const CoreParts& parts, const GatewayConfig& config) {
  http::ClientSettings settings;
  settings.tls = parts.trust;
  settings.clock = &parts.host.clock;
  settings.resolver = &parts.host.resolver;
  settings.max_connections = config.upstream.max_connections;
  settings.max_idle = config.upstream.max_connections;
  settings.max_waiting = kMostWaiting;
  settings.connect_timeout = config.upstream.connect_timeout;
  settings.read_timeout = config.upstream.deadline;
  settings.write_timeout = config.upstream.deadline;
  return settings;
}

// Counts a task for as long as it runs.
class Running {
 public:
  explicit Running(std::atomic<std::size_t>& count) noexcept : count_(count) { ++count_; }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  ~Running() { --count_; }

 private:
  std::atomic<std::size_t>& count_;
};

}  // namespace

Core::Core(CoreParts parts, const GatewayConfig& config)
    : host_(parts.host),
      workers_wanted_(workers_of(config, parts.host.cores.size())),
      probe_interval_(config.upstream.probe_interval),
      tenants_(limits_of(config)),
      queue_(*parts.topology, tenants_,
             {.work_capacity = config.work_capacity,
              .sched_capacity = config.sched_capacity,
              .lanes = Upstreams::kMost,
              .slots = config.upstream.concurrency}),
      admission_(parts.topology->meters(), *parts.gate, tenants_, queue_, health_),
      upstreams_(parts.topology->meters(), parts.host.random, policy_of(config)),
      streams_(parts.topology->meters(), config.streams),
      events_(*parts.topology, kEvents, config.events_capacity),
      ticks_(*parts.topology, kMetricsTick, config.tick_capacity),
      turns_at_once_(parts.topology->meters().counter(metrics::kTurnsTotal, {"bypass"})),
      turns_in_line_(parts.topology->meters().counter(metrics::kTurnsTotal, {"queued"})),
      prober_(parts.host.net, client_settings(parts, config), parts.topology->meters()) {
  const http::ClientSettings settings = client_settings(parts, config);
  for (platform::Executor* const core : host_.cores) {
    loops_.push_back(std::make_unique<Loop>(*core, host_.net, settings, parts.topology->meters()));
  }
}

Core::~Core() = default;

void Core::apply(const GatewayConfig& config) {
  tenants_.apply(limits_of(config), platform::Executor::current()->now());
  queue_.set_slots(config.upstream.concurrency);
  streams_.apply(config.streams);
  worker_faults_.ask_for(config.debug_fail_workers);
  Routing routing = gateway::routing_of(config);
  routing.upstreams = upstreams_.make(routing.table);
  const std::lock_guard lock(lock_);
  latest_ = std::make_shared<const Routing>(std::move(routing));
  routing_version_.fetch_add(1, std::memory_order_release);
}

Core::Loop& Core::here() noexcept {
  const platform::Executor* const current = platform::Executor::current();
  const auto loop =
      std::ranges::find(loops_, current, [](const auto& each) { return &each->home; });
  assert(loop != loops_.end() && "on a core of the service");
  return **loop;
}

const std::shared_ptr<const Routing>& Core::routing_of(Loop& loop) {
  const std::uint64_t version = routing_version_.load(std::memory_order_acquire);
  if (loop.routing_version != version) {
    const std::lock_guard lock(lock_);
    loop.routing = std::make_shared<const Routing>(*latest_);
    loop.routing_version = version;
  }
  return loop.routing;
}

// A body takes the time its client needs, within the request's own deadline; the upstream's begins
// when it has all of it.
bool Core::body_takes_its_time(const Visit& visit) noexcept {
  return visit.request.head->has_body() && visit.route->deadline.count() == 0;
}

base::Duration Core::answer_within(const Visit& visit) noexcept {
  const base::Duration own = visit.route->deadline;
  return own.count() > 0 ? own : visit.routing.deadline;
}

Deadline Core::deadline_of(const Visit& visit) {
  const Deadline given = visit.request.deadline;
  if (body_takes_its_time(visit)) return given;
  return given.sooner(Deadline(visit.now + answer_within(visit)));
}

// What the browser of whoever asks is to know.
void Core::finish(const Visit& visit, Response& response) {
  if (!visit.origin.empty()) {
    kit::allow_origin(response, visit.origin);
  } else if (visit.varies_by_origin()) {
    response.add("Vary", "Origin");
  }
  const std::string& hsts = visit.routing.hsts;
  if (!hsts.empty()) response.add("Strict-Transport-Security", hsts);
}

// Streams give their turns back at once: they do nothing most of the time. Instead each takes one
// of its tenant's places, until its last byte was sent or its client has left.
void Core::hold_stream(const Visit& visit, Response& response) {
  struct Held {
    http::StreamPlaces::Place place;
    std::shared_ptr<const void> owner;
  };
  auto place = streams_.enter(visit.share().text());
  if (place) {
    response.owner = std::make_shared<const Held>(std::move(*place), std::move(response.owner));
    return;
  }
  visit.tenant->rejections.fetch_add(1, std::memory_order_relaxed);
  base::Error told = queue_.receipt(place.error().code, place.error().message, *visit.tenant);
  std::ranges::move(place.error().details, std::back_inserter(told.details));
  response = kit::refuse(visit.request, told);
}

// One coroutine for all of it: every request takes this way.
Task<Response> Core::serve(http::Request* request) {
  Loop& loop = here();
  const std::shared_ptr<const Routing> routing = routing_of(loop);
  Visit visit{*request, *routing, loop.home.now()};
  if (std::optional<Response> refused = admission_.admit(visit)) {
    finish(visit, *refused);
    co_return std::move(*refused);
  }
  request->share = visit.share();
  Upstream& upstream = *routing->upstreams[visit.route->upstream];
  Passage passage{.request = request,
                  .client = &visit.client,
                  .client_of_core = &loop.client,
                  .deadline = deadline_of(visit),
                  .answer_within = answer_within(visit),
                  .body_takes_its_time = body_takes_its_time(visit),
                  .keep_host = routing->keep_host,
                  .turn = {},
                  .upload = nullptr,
                  .owner = routing};
  TurnRequest wanted{.tenant = visit.tenant,
                     .lane = upstream.lane(),
                     .cost = visit.route->cost,
                     .body_bytes = request->head->content_length.value_or(0),
                     .is_inline = visit.route->is_inline,
                     .deadline = passage.deadline};
  // A turn is for what there is to send: nobody waits for a client in one.
  if (!request->body->has_start()) {
    const base::Result<> begun =
        co_await request->body->await_start(first_part_within(upstream, *request->body));
    if (!begun) {
      Response refused = kit::refuse(*request, begun.error());
      finish(visit, refused);
      co_return refused;
    }
  }
  passage.turn = queue_.try_take(wanted);
  if (passage.turn) {
    turns_at_once_.add();
  } else {
    base::Result<Turn> taken = co_await queue_.take(std::move(wanted));
    if (!taken) {
      if (taken.error().code == base::Code::Busy) visit.tenant->rejections.fetch_add(1);
      Response refused = kit::refuse(*request, taken.error());
      finish(visit, refused);
      co_return refused;
    }
    turns_in_line_.add();
    passage.turn = std::move(*taken);
  }
  std::optional<UploadTurn> upload;
  if (!request->body->finished()) {
    passage.upload = &upload.emplace(queue_, passage.turn, *request->body, passage.deadline);
  }
  Response response = co_await upstream.forward(&passage);
  request->share = {};  // a view into this call
  if (passage.is_event_stream) hold_stream(visit, response);
  finish(visit, response);
  co_return response;
}

Task<void> Core::schedule(Shutdown shutdown) {
  const Running running(schedulers_running_);
  co_await queue_.schedule(std::move(shutdown));
}

Task<void> Core::work(Shutdown shutdown) {
  return worker_faults_.run(queue_.work(std::move(shutdown)));
}

Task<void> Core::tick(Shutdown shutdown) {
  for (;;) {
    const Waited waited = co_await runtime::wait_stop(shutdown, Deadline::in(kTick));
    if (waited != Waited::TimedOut) co_return;
    const auto sent = co_await ticks_.send({}, Deadline::in(kTick));
    static_cast<void>(sent);  // a second that was missed is in the next one
  }
}

Task<void> Core::account(Shutdown shutdown) {
  for (;;) {
    const auto tick = co_await ticks_.recv_or_stop(shutdown);
    if (!tick) co_return;
    tenants_.tick(platform::Executor::current()->now());
    accounts_.sample(tenants_.all());
  }
}

Task<void> Core::probe(Shutdown shutdown) {
  Waited waited = Waited::TimedOut;
  while (waited == Waited::TimedOut) {
    for (const auto& upstream : upstreams_.groups()) {
      co_await upstream->group().probe(&prober_);
    }
    waited = co_await runtime::wait_stop(shutdown, Deadline::in(probe_interval_));
  }
  co_await prober_.close(Deadline::in(kLastWords));
}

Vitals Core::vitals() const {
  Vitals vitals{.workers = worker_faults_.running(),
                .workers_wanted = workers_wanted_,
                .scheduler = schedulers_running_.load() > 0,
                .waiting = queue_.waiting(),
                .waiting_most = queue_.capacity(),
                .lost_upstreams = {},
                .upstreams = 0};
  std::shared_ptr<const Routing> routing;
  {
    const std::lock_guard lock(lock_);
    routing = latest_;
  }
  for (const auto& upstream : routing->upstreams) {
    ++vitals.upstreams;
    if (!upstream->is_usable()) vitals.lost_upstreams.push_back(upstream->name());
  }
  return vitals;
}

Task<void> Core::monitor(Shutdown shutdown) {
  MemberStates before;
  for (;;) {
    const Waited waited = co_await runtime::wait_stop(shutdown, Deadline::in(kLook));
    if (waited != Waited::TimedOut) co_return;
    if (health_.note(vitals())) {
      const auto kind = health_.sheds_writes() ? EventKind::Degraded : EventKind::Recovered;
      std::string what;
      for (const std::string& one : health_.readiness().missing) {
        what += (what.empty() ? "" : ", ") + one;
      }
      events_.send({kind, std::move(what)});
    }
    for (GatewayEvent& event : note_members(upstreams_, before)) events_.send(std::move(event));
  }
}

Task<void> Core::dial(std::size_t core, Shutdown shutdown) {
  co_await runtime::wait_stop(shutdown);
  co_await loops_[core]->client.close(Deadline::in(kLastWords));
}

}  // namespace ron::gateway
