#include "sim/index/subject.h"

#include <algorithm>
#include <utility>

#include "services/kit/capability_gate.h"
#include "sim/harness/scene.h"
#include "sim/harness/server_node.h"
#include "sim/harness/tokens.h"
#include "sim/index/audit.h"

namespace ron::sim {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kBelieveAnyone = "index.discovery.trust=any";

const IndexRequest* own(const Request& request) {
  return dynamic_cast<const IndexRequest*>(&request);
}

}  // namespace

std::unique_ptr<Subject> make_index_subject(std::uint64_t seed, std::string_view plant) {
  IndexPlan plan = make_index_plan(seed);
  const IndexPlant planted = index_plant_named(plant).value_or(IndexPlant::None);
  if (planted == IndexPlant::BelieveAnyone) {
    for (LifePlan& life : plan.lives) {
      life.flags.emplace_back(kBelieveAnyone);
      for (ReloadPlan& reload : life.reloads) reload.flags.emplace_back(kBelieveAnyone);
    }
  }
  return std::make_unique<IndexSubject>(std::move(plan), planted);
}

IndexSubject::IndexSubject(IndexPlan plan, IndexPlant plant)
    : plan_(std::move(plan)),
      plant_(plant),
      maker_(plan_, token_, ledgers_),
      mischief_(plan_.seed ^ 0x313C41EFULL) {}

IndexSubject::~IndexSubject() = default;

void IndexSubject::enter(Scene& scene) {
  scene_ = &scene;
  Dice dice(plan_.seed ^ 0x70C35ULL);
  const std::int64_t now = scene.world.unix_ms();
  keyring_ = make_keyring(dice, now / 1000);
  token_ = mint(dice, *keyring_, {}, now / 1000);
  records_.emplace(plan_, now);
  maker_.set_records(*records_);
  disk_.emplace(scene.server->node().disk(), plant_ == IndexPlant::SkipSync, [this] {
    ++scene_->journal.tally.faults["writers made to fail"];
    scene_->timeline.task_failed(scene_->world.now());
  });
  for (std::size_t i = 0; i < plan_.helpers; ++i) {
    scene.world.network().set_link(kServerNode, scene.helper(i).id(), plan_.links[i]);
  }
  for (std::size_t i = 0; i < plan_.proxies.size(); ++i) {
    proxies_.push_back(std::make_unique<Proxy>(scene, plan_, i, *records_));
    proxies_.back()->start();
  }
  for (std::size_t i = 0; i < plan_.peers; ++i) {
    peers_.push_back(std::make_unique<Peer>(scene, plan_.proxies.size() + i, *records_));
    revive(i);
  }
  plan_outages();
}

void IndexSubject::plan_outages() {
  for (const IndexOutage& outage : plan_.outages) {
    scene_->world.after(outage.at, [this, &outage] {
      if (!calm_ && !proxies_.empty()) happen(outage);
    });
  }
}

void IndexSubject::part(std::size_t helper, Duration lasts) {
  platform::sim::Network& network = scene_->world.network();
  const platform::sim::NodeId node = scene_->helper(helper).id();
  network.partition(kServerNode, node);
  scene_->world.after(lasts, [&network, node] { network.heal(kServerNode, node); });
}

void IndexSubject::revive(std::size_t peer) {
  if (peers_.empty() || peers_[peer]->start()) return;
  scene_->world.after(20ms, [this, peer] { revive(peer); });
}

void IndexSubject::happen(const IndexOutage& outage) {
  using Kind = IndexOutage::Kind;
  const bool is_peer = outage.helper >= plan_.proxies.size();
  ++scene_->journal.tally.faults[is_peer ? "outages of peers" : "outages of proxies"];
  scene_->journal.note("outage", "helper " + std::to_string(outage.helper));
  const auto later = [this, &outage](auto what) {
    scene_->world.after(outage.lasts, [this, what] {
      if (!proxies_.empty()) what();
    });
  };
  if (outage.kind == Kind::Partition || (is_peer && outage.kind == Kind::Freeze)) {
    part(outage.helper, outage.lasts);
    return;
  }
  if (is_peer) {
    const std::size_t number = outage.helper - plan_.proxies.size();
    Peer& peer = *peers_[number];
    if (outage.kind == Kind::Kill) {
      peer.stop();
    } else {
      peer.cut_power();
    }
    later([this, number] { revive(number); });
    return;
  }
  Proxy& proxy = *proxies_[outage.helper];
  switch (outage.kind) {
    case Kind::Kill:
      proxy.kill();
      later([&proxy] { proxy.start(); });
      break;
    case Kind::PowerCut:
      proxy.cut_power();
      later([&proxy] { proxy.start(); });
      break;
    default:
      proxy.freeze(outage.lasts);
      break;
  }
}

const config::Schema& IndexSubject::schema() const {
  static const config::Schema all = [] {
    config::Schema made;
    made.add(kit::auth_section()).add(index::index_section());
    return made;
  }();
  return all;
}

std::shared_ptr<const kit::ServiceConfig> IndexSubject::settings(
    const config::Config& config) const {
  return config.get(index::index_section());
}

platform::Host IndexSubject::host(platform::Host machine) { return machine.with_disk(*disk_); }

std::unique_ptr<kit::Service> IndexSubject::make_service(kit::ServiceParts parts) {
  routes_.push_back(std::make_unique<WatchedRoutes>(plant_, [this](Duration by) {
    if (scene_->server->is_dark() || by <= plan_.moment()) return;
    scene_->journal.violation("server",
                              "a resolve went on for " + base::print(by) + " after its deadline");
  }));
  WatchedRoutes* const routes = routes_.back().get();
  auto service = std::make_unique<index::Service>(
      std::move(parts), index::Directories{.data = "/index", .keys = ""},
      [routes](http::Router& router, index::Core& core) { routes->add(router, core); });
  return service;
}

void IndexSubject::service_gone() {
  disk_->disarm();
  scene_->world.faults().fail_write = 0;
  scene_->world.faults().fail_sync = 0;
}

// The start writes, too, and is nobody's to restart.
void IndexSubject::fail_task() {
  const ServerNode& server = *scene_->server;
  const bool runs =
      server.started() && !server.is_dark() && scene_->timeline.now_living().stop_asked == kNever;
  if (!runs || calm_) return;
  if (mischief_.chance(40)) {
    disk_->arm();
  } else if (plan_.fail_sync != 0) {
    ++scene_->journal.tally.faults["disks made to fail"];
    disk_failed_in_.insert(scene_->timeline.current());
    scene_->world.faults().fail_write = plan_.fail_write;
    scene_->world.faults().fail_sync = plan_.fail_sync;
    // Until it is repaired.
    scene_->world.after(mischief_.between(10ms, Duration(1s)), [this] {
      scene_->world.faults().fail_write = 0;
      scene_->world.faults().fail_sync = 0;
    });
  }
}

void IndexSubject::calm_down() {
  calm_ = true;
  disk_->disarm();
  scene_->world.faults().fail_write = 0;
  scene_->world.faults().fail_sync = 0;
  for (const auto& proxy : proxies_) {
    proxy->calm_down();
    proxy->start();
  }
  for (std::size_t i = 0; i < peers_.size(); ++i) revive(i);
}

// Until breakers have seen that everybody is back, what was remembered is forgotten, and nobody
// keeps a connection any more to a machine that has lost it.
Duration IndexSubject::recovery() const {
  const auto config = scene_->timeline.now_living().eras.back().config->get(index::index_section());
  return 5s + http::ClientSettings().idle_timeout +
         4 * std::chrono::seconds(config->breaker.cooldown_s) +
         2 * std::chrono::seconds(config->breaker.error_window_s) + config->cache.positive_ttl +
         config->cache.negative_ttl;
}

// The peers are services: they stop as such.
void IndexSubject::leave() {
  for (const auto& peer : peers_) peer->stop();
  const auto gone = [this] {
    return std::ranges::all_of(peers_, [](const auto& peer) { return peer->stopped(); });
  };
  if (scene_->world.run_until(gone, 1min) != platform::sim::Outcome::Done) {
    scene_->journal.violation("peer", "does not stop");
  }
  peers_.clear();
  proxies_.clear();
}

Duration IndexSubject::longest_queue(const config::Config& config) const {
  return std::chrono::milliseconds(config.get(index::index_section())->dht.deadline_ms);
}

class IndexSubject::Session final : public Caller {
 public:
  explicit Session(const IndexSubject& subject) : subject_(subject) {}
  RequestPtr next(Dice& dice, bool) override { return subject_.maker_.any(dice); }

 private:
  const IndexSubject& subject_;
};

std::unique_ptr<Caller> IndexSubject::make_caller(Dice) { return std::make_unique<Session>(*this); }

std::optional<std::size_t> IndexSubject::begin(const Request& request, unsigned) {
  const IndexRequest* const asked = own(request);
  if (asked == nullptr) return std::nullopt;
  IndexBegun begun;
  if (asked->is_about_name()) {
    NameLedger& name = ledgers_.names[asked->about];
    begun.floor = name.newest();
    if (asked->changes_name()) name.asked(asked->target);
  }
  if (asked->is_about_address()) begun.announced = ledgers_.providers[asked->about].newest();
  if (asked->resolves()) {
    auto& others = resolving_[asked->key()];
    for (const auto& [operation, since] : others) {
      begun.shared_since = std::min(begun.shared_since, since);
    }
    others.emplace(begun_.size(), scene_->world.now());
  }
  begun_.push_back(std::move(begun));
  return begun_.size() - 1;
}

Judgement IndexSubject::answered(const Exchange& exchange) {
  const IndexBegun begun = exchange.operation ? begun_[*exchange.operation] : IndexBegun();
  const bool has_failed = disk_failed_in_.contains(exchange.life_number);
  const bool is_slow =
      plan_.world.faults.slow_sync != 0 || has_failed || !exchange.life->task_failures.empty();
  IndexJudge judge(exchange, ledgers_, begun,
                   {.disk_fails = has_failed,
                    .disk_is_slow = is_slow,
                    .others_fail = !calm_ && !plan_.helpers_are_well()});
  const IndexRequest* const asked = own(*exchange.request);
  if (asked != nullptr && exchange.operation) resolving_[asked->key()].erase(*exchange.operation);
  return judge.judge();
}

Task<void> IndexSubject::audit(Talk* talk) {
  IndexAuditor auditor(talk, &maker_, &ledgers_);
  co_await auditor.run();
  checked_ = auditor.checked();
}

void IndexSubject::count(Tally& tally) const {
  tally.operations = begun_.size();
  tally.events["versions checked at the end"] += checked_;
  for (const NameLedger& name : ledgers_.names) {
    tally.events["versions that somebody was told of"] += name.versions().size();
  }
  for (const ProviderLedger& provider : ledgers_.providers) {
    tally.events["announcements acknowledged"] += provider.newest().size();
  }
}

}  // namespace ron::sim
