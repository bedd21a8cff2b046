#include "sim/gateway/subject.h"

#include <algorithm>

#include "services/gateway/wires.h"
#include "services/kit/capability_gate.h"
#include "services/storage/config.h"
#include "sim/gateway/audit.h"
#include "sim/harness/scene.h"
#include "sim/harness/server_node.h"

namespace ron::sim {
namespace {

using namespace std::chrono_literals;

// The monitor's requests are the harness's own.
const GatewayRequest* own(const Request& request) {
  return dynamic_cast<const GatewayRequest*>(&request);
}

}  // namespace

std::unique_ptr<Subject> make_gateway_subject(std::uint64_t seed, std::string_view plant) {
  return std::make_unique<GatewaySubject>(make_gateway_plan(seed),
                                          gateway_plant_named(plant).value_or(GatewayPlant::None));
}

GatewaySubject::GatewaySubject(GatewayPlan plan, GatewayPlant plant)
    : plan_(std::move(plan)),
      plant_(plant),
      requests_(plan_, passes_),
      book_(plan_.members.size()),
      killer_dice_(plan_.seed ^ 0x7A5CULL) {}

GatewaySubject::~GatewaySubject() = default;

void GatewaySubject::enter(Scene& scene) {
  scene_ = &scene;
  passes_ = make_passes(Dice(plan_.seed ^ 0x70C35ULL), scene.world.unix_ms() / 1000);
  witness_.emplace(plan_, book_, scene.timeline);
  killer_.emplace([this](std::string_view kind) {
    ++scene_->journal.tally.faults["tasks made to fail: " + std::string(kind)];
    scene_->journal.note("server", "a task is made to fail: " + std::string(kind));
    scene_->timeline.task_failed(scene_->world.now());
  });
  for (std::size_t i = 0; i < plan_.members.size(); ++i) {
    members_.push_back(std::make_unique<Member>(scene, plan_, i, book_));
    members_.back()->start();
  }
  plan_outages();
}

void GatewaySubject::plan_outages() {
  for (const Outage& outage : plan_.outages) {
    scene_->world.after(outage.at, [this, &outage] {
      if (!calm_ && !members_.empty()) happen(outage);
    });
  }
}

void GatewaySubject::happen(const Outage& outage) {
  Member& member = *members_[outage.member];
  const std::string name = plan_.member_name(outage.member);
  const TimePoint now = scene_->world.now();
  const auto later = [&](auto what) {
    scene_->world.after(outage.lasts, [this, what] {
      if (!members_.empty()) what();
    });
  };
  const auto tell = [&](std::string_view what, std::string counted) {
    scene_->journal.note("outage", name + std::string(what));
    ++scene_->journal.tally.faults[std::move(counted)];
  };
  book_.trouble(outage.member, now, now + outage.lasts);
  switch (outage.kind) {
    case Outage::Kind::Kill:
      tell(" is killed", "upstreams killed");
      member.kill();
      later([&member] { member.start(); });
      break;
    case Outage::Kind::PowerCut:
      tell(" loses power", "upstreams without power");
      member.cut_power();
      later([&member] { member.start(); });
      break;
    case Outage::Kind::Partition: {
      tell(" is cut off", "upstreams cut off");
      platform::sim::Network& network = scene_->world.network();
      network.partition(kServerNode, member.node());
      later([&network, node = member.node()] { network.heal(kServerNode, node); });
      break;
    }
    case Outage::Kind::Freeze:
      tell(" is frozen", "upstreams frozen");
      member.freeze(outage.lasts);
      break;
    case Outage::Kind::Drain:
      tell(" is drained", "upstreams drained");
      if (core_ != nullptr) static_cast<void>(core_->upstreams().set_drained(name, true));
      later([this, name] {
        if (core_ != nullptr) static_cast<void>(core_->upstreams().set_drained(name, false));
      });
      break;
  }
}

const config::Schema& GatewaySubject::schema() const {
  static const config::Schema all = [] {
    config::Schema made;
    made.add(kit::auth_section()).add(gateway::gateway_section()).add(storage::storage_section());
    return made;
  }();
  return all;
}

std::shared_ptr<const kit::ServiceConfig> GatewaySubject::settings(
    const config::Config& config) const {
  return config.get(gateway::gateway_section());
}

std::unique_ptr<kit::Service> GatewaySubject::make_service(kit::ServiceParts parts) {
  if (plan_.with_storage) {
    kit::ServiceParts behind = parts;
    behind.listens = false;
    storage_ = std::make_unique<storage::Service>(std::move(behind), std::vector<std::string>());
  }
  parts.wrap_task = killer_->wrap();
  auto front = std::make_unique<gateway::Service>(
      std::move(parts), [this](http::Router& router, gateway::Core& core) {
        core_ = &core;
        core_of_routes_ = PlantedCore::make(plant_, core);
        core_of_routes_->add_routes(router);
      });
  if (storage_ != nullptr) front->show(*storage_);
  witness_->watch(*core_, front->meters());
  return front;
}

std::vector<kit::Service*> GatewaySubject::neighbours() {
  if (storage_ == nullptr) return {};
  return {storage_.get()};
}

void GatewaySubject::service_gone() {
  witness_->leave(scene_->world.now());
  core_ = nullptr;
  core_of_routes_.reset();
  storage_.reset();
}

// Only those that run are made to fail: a start or a stop is nobody's to repeat.
void GatewaySubject::fail_task() {
  const ServerNode& server = *scene_->server;
  const bool runs =
      server.started() && !server.is_dark() && scene_->timeline.now_living().stop_asked == kNever;
  if (runs && !calm_) killer_->kill_one(killer_dice_);
}

void GatewaySubject::calm_down() {
  calm_ = true;
  for (const auto& member : members_) {
    member->calm_down();
    member->start();
  }
  for (std::size_t i = 0; i < plan_.members.size(); ++i) {
    static_cast<void>(core_->upstreams().set_drained(plan_.member_name(i), false));
  }
}

// Until members that were frozen or ejected are back, their probes have said so, and nobody keeps a
// connection any more to a machine that has lost it.
Duration GatewaySubject::recovery() const {
  const auto config =
      scene_->timeline.now_living().eras.back().config->get(gateway::gateway_section());
  const gateway::UpstreamConfig& upstream = config->upstream;
  return 3s + http::ClientSettings().idle_timeout +
         4 * (upstream.probe_interval + upstream.probe_timeout) +
         http::UpstreamPolicy::kLongestEjection * upstream.eject_for + 2 * config->breaker.open_for;
}

std::optional<std::string> GatewaySubject::look() { return witness_->look(scene_->world.now()); }

// The tenant that has most waiting has its part of the places, if the queue itself has room. A
// scheduler that is being restarted takes nothing out of it.
std::optional<Level> GatewaySubject::level_of(std::string_view detail) const {
  if (detail != gateway::kWork.name || core_ == nullptr) return std::nullopt;
  if (!scene_->timeline.now_living().task_failures.empty()) return Level{1, 1};
  std::uint64_t queued = 0;
  for (const gateway::TenantPtr& tenant : core_->tenants().all()) {
    queued = std::max<std::uint64_t>(queued, tenant->queued());
  }
  const auto config =
      scene_->timeline.now_living().eras.front().config->get(gateway::gateway_section());
  const std::uint64_t active = std::max<std::uint64_t>(1, core_->tenants().active());
  const Level level{queued, std::max<std::uint64_t>(1, config->work_capacity / active)};
  return level.used >= level.most ? std::optional(level) : std::nullopt;
}

void GatewaySubject::leave() { members_.clear(); }

Duration GatewaySubject::longest_queue(const config::Config& config) const {
  return config.get(gateway::gateway_section())->upstream.deadline;
}

class GatewaySubject::Session final : public Caller {
 public:
  explicit Session(const GatewaySubject& subject) : subject_(subject) {}
  RequestPtr next(Dice& dice, bool alone) override { return subject_.requests_.any(dice, alone); }

 private:
  const GatewaySubject& subject_;
};

std::unique_ptr<Caller> GatewaySubject::make_caller(Dice) {
  return std::make_unique<Session>(*this);
}

std::optional<std::size_t> GatewaySubject::begin(const Request& request, unsigned life) {
  const GatewayRequest* const asked = own(request);
  if (asked == nullptr || !asked->heavy) return std::nullopt;
  ++by_tenant_[{life, asked->tenant()}];
  if (!asked->group) return std::nullopt;
  book_.add({.what = asked->what,
             .id = asked->corr_id,
             .method = asked->method,
             .target = asked->target,
             .body = asked->plain_body,
             .group = *asked->group,
             .life = life,
             .begun = scene_->world.now(),
             .seen = {}});
  return std::nullopt;
}

Judgement GatewaySubject::answered(const Exchange& exchange) {
  const GatewayFacts facts{plan_, book_, *witness_, by_tenant_, stored_};
  Judgement judgement = GatewayJudge(exchange, facts).judge();
  const GatewayRequest* const asked = own(*exchange.request);
  const bool passed_on = !exchange.answer->field("x-marker").empty();
  if (passed_on) {
    ++passed_on_;
    judgement.outcome += " of an upstream";
  }
  const bool stored = asked != nullptr && asked->object && asked->has_body;
  if (stored && exchange.answer->status < 300) {
    stored_.try_emplace({exchange.life_number, *asked->object}, exchange.ended);
  }
  return judgement;
}

// An upstream that breaks off takes the answer with it.
bool GatewaySubject::may_cut(const Exchange& exchange) const {
  const Errand* const errand = book_.find(exchange.request->corr_id);
  return errand != nullptr &&
         (errand->met_misdeed() || book_.any_trouble(exchange.begun, exchange.ended));
}

void GatewaySubject::life_ended(unsigned life) {
  if (scene_->server->is_dark() || core_ == nullptr) return;
  if (const auto wrong = witness_->check_books(life)) scene_->journal.violation("books", *wrong);
}

Task<void> GatewaySubject::audit(Talk* talk) {
  GatewayAuditor auditor(talk, &requests_, &plan_, &*witness_);
  co_await auditor.run();
}

void GatewaySubject::count(Tally& tally) const {
  for (unsigned life = 1; life <= scene_->timeline.current(); ++life) {
    const Book::Sums sums = book_.sums(life);
    tally.operations += sums.errands;
    tally.events["requests that upstreams saw"] += sums.sightings;
    tally.events["requests that upstreams saw again"] += sums.repetitions;
  }
  tally.acknowledged = passed_on_;
  if (plan_.with_storage) ++tally.events["seeds with svc-storage in the process"];
}

}  // namespace ron::sim
