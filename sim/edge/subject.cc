#include "sim/edge/subject.h"

#include <algorithm>
#include <utility>

#include "http/client.h"
#include "platform/test_tls.h"
#include "services/edge/wires.h"
#include "services/kit/capability_gate.h"
#include "sim/edge/audit.h"
#include "sim/harness/scene.h"
#include "sim/harness/server_node.h"
#include "sim/harness/tokens.h"

namespace ron::sim {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kAnyAddress = "edge.egress.allow_private=true";
constexpr std::string_view kDirectory = "/edge";

const EdgeRequest* own(const Request& request) {
  return dynamic_cast<const EdgeRequest*>(&request);
}

}  // namespace

std::unique_ptr<Subject> make_edge_subject(std::uint64_t seed, std::string_view plant) {
  EdgePlan plan = make_edge_plan(seed);
  const EdgePlant planted = edge_plant_named(plant).value_or(EdgePlant::None);
  if (planted == EdgePlant::AnyAddress) {
    for (LifePlan& life : plan.lives) {
      life.flags.emplace_back(kAnyAddress);
      for (ReloadPlan& reload : life.reloads) reload.flags.emplace_back(kAnyAddress);
    }
  }
  return std::make_unique<EdgeSubject>(std::move(plan), planted);
}

EdgeSubject::EdgeSubject(EdgePlan plan, EdgePlant plant)
    : plan_(std::move(plan)),
      plant_(plant),
      shelf_(plan_),
      maps_(plan_),
      ledger_(plan_.urls.size()),
      maker_(plan_, token_, ledger_.tags),
      mischief_(plan_.seed ^ 0x313C41EFULL) {}

EdgeSubject::~EdgeSubject() = default;

void EdgeSubject::enter(Scene& scene) {
  scene_ = &scene;
  Dice dice(plan_.seed ^ 0x70C35ULL);
  const std::int64_t now_s = scene.world.unix_ms() / 1000;
  keyring_ = make_keyring(dice, now_s);
  token_ = mint(dice, *keyring_, {}, now_s);
  net_.emplace(scene, plan_, scene.server->node().net());
  names_.emplace(scene, plan_);
  killer_.emplace([this](std::string_view kind) {
    ++scene_->journal.tally.faults["tasks made to fail"];
    scene_->journal.note("server", "made to fail: " + std::string(kind));
    scene_->timeline.task_failed(scene_->world.now());
  });
  make_origins();
  plan_outages();
  maps_.enter(scene);
}

// Certificates of their own, and an edge that trusts those.
void EdgeSubject::make_origins() {
  std::string trusted;
  for (std::size_t i = 0; i < plan_.origins.size(); ++i) {
    platform::TlsIdentity identity = platform::test::make_identity({.host = EdgePlan::host(i)});
    identity.resumable = false;
    trusted += identity.certificates;
    scene_->world.network().set_link(kServerNode, scene_->helper(i).id(), plan_.links[i]);
    origins_.push_back(
        std::make_unique<Origin>(*scene_, plan_, i, shelf_, *platform::TlsServer::make(identity)));
    origins_.back()->start();
  }
  trust_ = *platform::TlsClient::trusting(trusted);
}

void EdgeSubject::plan_outages() {
  for (const EdgeOutage& outage : plan_.outages) {
    scene_->world.after(outage.at, [this, &outage] {
      if (!calm_ && !origins_.empty()) happen(outage);
    });
  }
}

void EdgeSubject::happen(const EdgeOutage& outage) {
  using Kind = EdgeOutage::Kind;
  ++scene_->journal.tally.faults["outages of origins"];
  scene_->journal.note("outage", "origin " + std::to_string(outage.origin));
  Origin& origin = *origins_[outage.origin];
  const auto revive = [this, &outage, &origin] {
    scene_->world.after(outage.lasts, [this, &origin] {
      if (!origins_.empty()) origin.start();
    });
  };
  switch (outage.kind) {
    case Kind::Kill:
      origin.kill();
      revive();
      break;
    case Kind::PowerCut:
      origin.cut_power();
      revive();
      break;
    case Kind::Partition: {
      platform::sim::Network& network = scene_->world.network();
      const platform::sim::NodeId node = origin.node();
      network.partition(kServerNode, node);
      scene_->world.after(outage.lasts, [&network, node] { network.heal(kServerNode, node); });
      break;
    }
    case Kind::Freeze:
      origin.freeze(outage.lasts);
      break;
  }
}

const config::Schema& EdgeSubject::schema() const {
  static const config::Schema all = [] {
    config::Schema made;
    made.add(kit::auth_section()).add(edge::edge_section());
    return made;
  }();
  return all;
}

std::shared_ptr<const kit::ServiceConfig> EdgeSubject::settings(
    const config::Config& config) const {
  return config.get(edge::edge_section());
}

platform::Host EdgeSubject::host(platform::Host machine) {
  return {machine.cores,    machine.clock,     machine.random,     *net_,
          *names_,          machine.disk,      machine.key_values, machine.signals,
          machine.blocking, machine.send_arena};
}

std::unique_ptr<kit::Service> EdgeSubject::make_service(kit::ServiceParts parts) {
  parts.wrap_task = killer_->wrap();
  parts.credentials.trust = trust_;
  watches_.push_back(std::make_unique<WatchedOrigins>(
      *scene_, plant_, [this](const edge::FetchRequest& request) { return must_share(request); }));
  routes_.push_back(std::make_unique<PlantedRoutes>(plant_, parts.host.disk, copies_,
                                                    scene_->timeline.current()));
  WatchedOrigins* const watch = watches_.back().get();
  PlantedRoutes* const routes = routes_.back().get();
  auto service = std::make_unique<edge::Service>(
      std::move(parts), std::string(kDirectory),
      [watch, routes](http::Router& router, edge::Core& core) {
        watch->use(core.fetcher());
        routes->add(router, core);
      },
      watch);
  service_ = service.get();
  return service;
}

void EdgeSubject::service_gone() {
  service_ = nullptr;
  mend_disk();
}

void EdgeSubject::break_disk() {
  ++scene_->journal.tally.faults["disks made to fail"];
  scene_->journal.note("server", "its disk begins to fail");
  disk_failed_in_.insert(scene_->timeline.current());
  platform::sim::FaultPlan& faults = scene_->world.faults();
  faults.fail_write = plan_.fail_write;
  faults.fail_sync = plan_.fail_sync;
  faults.fail_read = plan_.fail_read;
  faults.rot_on_read = plan_.rot_on_read;
}

void EdgeSubject::mend_disk() {
  platform::sim::FaultPlan& faults = scene_->world.faults();
  faults.fail_write = faults.fail_sync = faults.fail_read = faults.rot_on_read = 0;
}

// The start reads and writes, too, and is nobody's to restart.
void EdgeSubject::fail_task() {
  const ServerNode& server = *scene_->server;
  const bool runs =
      server.started() && !server.is_dark() && scene_->timeline.now_living().stop_asked == kNever;
  if (!runs || calm_) return;
  if (plan_.fail_sync == 0 || mischief_.chance(50)) {
    killer_->kill_one(mischief_);
    return;
  }
  break_disk();
  scene_->world.after(mischief_.between(10ms, Duration(1s)), [this] { mend_disk(); });
}

void EdgeSubject::calm_down() {
  calm_ = true;
  mend_disk();
  names_->calm_down();
  maps_.calm_down();
  for (const auto& origin : origins_) {
    origin->calm_down();
    origin->start();
  }
}

void EdgeSubject::leave() {
  maps_.leave();
  origins_.clear();
}

// Until what was missing is asked for again, and nobody keeps a connection any more to a machine
// that has lost it.
Duration EdgeSubject::recovery() const {
  const auto config = scene_->timeline.now_living().eras.back().config->get(edge::edge_section());
  return 5s + http::ClientSettings().idle_timeout + config->cache.negative_ttl +
         config->fill.timeout * static_cast<Duration::rep>(1 + config->fill.max_tries);
}

std::optional<std::string> EdgeSubject::look() {
  if (service_ == nullptr || scene_->server->is_dark()) return std::nullopt;
  if (auto wrong = watches_.back()->look()) return wrong;
  const edge::UrlTable& table = service_->core().assets().table();
  std::uint64_t entries = 0;
  std::uint64_t bytes = 0;
  for (const Era& era : scene_->timeline.now_living().eras) {
    const auto config = era.config->get(edge::edge_section());
    entries = std::max(entries, config->cache.entries);
    bytes = std::max(bytes, config->cache.bytes.bytes);
  }
  if (table.entries() > entries) return std::to_string(table.entries()) + " entries";
  if (table.memory_bytes() > entries * edge::UrlTable::kEntryBytes) {
    return std::to_string(table.memory_bytes()) + " bytes of memory for what is known of URLs";
  }
  if (table.bytes() > bytes) return std::to_string(table.bytes()) + " bytes on disk";
  return std::nullopt;
}

// Fills may be refused before the queue is full: they have a part of it.
std::optional<Level> EdgeSubject::level_of(std::string_view detail) const {
  if (detail != edge::kWork.name || service_ == nullptr) return std::nullopt;
  const runtime::Limit& fills = service_->core().loader().fills_waiting();
  if (fills.used() < fills.most()) return std::nullopt;
  return Level{fills.used(), fills.most()};
}

Duration EdgeSubject::longest_queue(const config::Config& config) const {
  const auto edge = config.get(edge::edge_section());
  return (edge->fill.timeout + edge->fill.max + edge->fill.base) *
         static_cast<Duration::rep>(edge->fill.max_tries);
}

class EdgeSubject::Session final : public Caller {
 public:
  explicit Session(const EdgeSubject& subject) : subject_(subject) {}
  RequestPtr next(Dice& dice, bool) override { return subject_.maker_.any(dice); }

 private:
  const EdgeSubject& subject_;
};

std::unique_ptr<Caller> EdgeSubject::make_caller(Dice) { return std::make_unique<Session>(*this); }

std::optional<std::size_t> EdgeSubject::begin(const Request& request, unsigned) {
  const EdgeRequest* const asked = own(request);
  if (asked == nullptr || asked->ask > EdgeAsk::Pack) return std::nullopt;
  if (asked->policy.no_store) alone_.insert(asked->corr_id);
  const std::size_t url = asked->ask == EdgeAsk::Asset ? asked->url : plan_.urls.size();
  asked_.push_back({.url = url, .begun = scene_->world.now()});
  return asked_.size() - 1;
}

void EdgeSubject::ended(const Exchange& exchange) {
  if (exchange.operation) asked_[*exchange.operation].ended = scene_->world.now();
}

// Who left without an answer may be waited for by the edge until its deadline.
std::size_t EdgeSubject::peers_of(const Exchange& exchange) const {
  if (!exchange.operation) return 0;
  const std::size_t url = asked_[*exchange.operation].url;
  const TimePoint since = exchange.begun - scene_->longest_deadline;
  return static_cast<std::size_t>(std::ranges::count_if(asked_, [&](const Asked& asked) {
    return asked.url == url && asked.begun <= exchange.ended && asked.ended >= since;
  }));
}

// What may be shared at all, by requests that share, and does not depend on who asks.
bool EdgeSubject::must_share(const edge::FetchRequest& request) const {
  if (alone_.contains(std::string(request.corr_id.text()))) return false;
  for (std::size_t i = 0; i < plan_.urls.size(); ++i) {
    if (plan_.name(i) != request.host_port + request.target) continue;
    const UrlPlan& url = plan_.urls[plan_.final(i)];
    return url.policy.may_be_shared() && !url.varies;
  }
  return false;
}

Judgement EdgeSubject::answered(const Exchange& exchange) {
  const bool has_failed = disk_failed_in_.contains(exchange.life_number);
  const bool is_slow =
      plan_.world.faults.slow_sync != 0 || has_failed || !exchange.life->task_failures.empty();
  EdgeJudge judge(exchange, {&plan_, &shelf_, &maps_}, ledger_,
                  {.origins_fail = !calm_ && !plan_.origins_are_well(),
                   .disk_fails = has_failed,
                   .disk_is_slow = is_slow,
                   .disk_has_failed = !disk_failed_in_.empty(),
                   .amnesia = plan_.amnesia,
                   .peers = peers_of(exchange)});
  ended(exchange);
  return judge.judge();
}

Task<void> EdgeSubject::audit(Talk* talk) {
  const EdgeAuditor::Disk disk{.failed = disk_failed_in_.contains(scene_->timeline.current()),
                               .failed_ever = !disk_failed_in_.empty()};
  EdgeAuditor auditor(talk, &maker_, &plan_, &maps_, &service_->core(), disk);
  co_await auditor.run();
  checked_ = auditor.checked();
}

void EdgeSubject::count(Tally& tally) const {
  tally.operations = asked_.size();
  tally.events["URLs checked at the end"] += checked_;
  tally.events["answers of origins noted"] += shelf_.count();
  for (const auto& watch : watches_) tally.events["fills"] += watch->fills();
  for (const auto& [how, count] : ledger_.results) tally.events["X-Cache: " + how] += count;
  if (net_) tally.events["connections to origins"] += net_->connections();
}

}  // namespace ron::sim
