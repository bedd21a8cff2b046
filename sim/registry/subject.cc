#include "sim/registry/subject.h"

#include <algorithm>
#include <utility>

#include "services/kit/capability_gate.h"
#include "sim/harness/scene.h"
#include "sim/harness/server_node.h"
#include "sim/harness/tokens.h"
#include "sim/registry/audit.h"

namespace ron::sim {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kDiskBytes = base::kGiB;

const RegistryRequest* own(const Request& request) {
  return dynamic_cast<const RegistryRequest*>(&request);
}

// The text as JSON has it: its line breaks are escaped, and nothing else of it needs to be.
std::string unescape(std::string_view json) {
  std::string text;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const bool is_break = json[i] == '\\' && i + 1 < json.size() && json[i + 1] == 'n';
    text += is_break ? '\n' : json[i];
    i += is_break ? 1 : 0;
  }
  return text;
}

}  // namespace

std::unique_ptr<Subject> make_registry_subject(std::uint64_t seed, std::string_view plant) {
  return std::make_unique<RegistrySubject>(
      make_registry_plan(seed), registry_plant_named(plant).value_or(RegistryPlant::None));
}

RegistrySubject::RegistrySubject(RegistryPlan plan, RegistryPlant plant)
    : plan_(std::move(plan)),
      plant_(plant),
      maker_(plan_, token_),
      mischief_(plan_.seed ^ 0x313C41EFULL) {}

RegistrySubject::~RegistrySubject() = default;

void RegistrySubject::enter(Scene& scene) {
  scene_ = &scene;
  Dice dice(plan_.seed ^ 0x70C35ULL);
  const std::int64_t now = scene.world.unix_ms() / 1000;
  keyring_ = make_keyring(dice, now);
  token_ = mint(dice, *keyring_, {}, now);
  disk_.emplace(scene.server->node().disk(), plant_);
  faulty_.emplace(*disk_, false, [this] {
    ++scene_->journal.tally.faults["writers made to fail"];
    scene_->timeline.task_failed(scene_->world.now());
  });
}

const config::Schema& RegistrySubject::schema() const {
  static const config::Schema all = [] {
    config::Schema made;
    made.add(kit::auth_section()).add(registry::registry_section());
    return made;
  }();
  return all;
}

std::shared_ptr<const kit::ServiceConfig> RegistrySubject::settings(
    const config::Config& config) const {
  return config.get(registry::registry_section());
}

platform::Host RegistrySubject::host(platform::Host machine) {
  return {machine.cores, machine.clock,      machine.random,  machine.net,      machine.resolver,
          *faulty_,      machine.key_values, machine.signals, machine.blocking, machine.send_arena};
}

std::unique_ptr<kit::Service> RegistrySubject::make_service(kit::ServiceParts parts) {
  disk_->next_life();
  auto service = std::make_unique<registry::Service>(
      std::move(parts), registry::Directories{.data = "/registry", .keys = "/registry"});
  service_ = service.get();
  return service;
}

void RegistrySubject::service_gone() {
  service_ = nullptr;
  repair_disk();
  calm_ = false;
}

// Its followers are not told, and go before it does.
void RegistrySubject::life_ended(unsigned) {
  if (follower_) changes_ += follower_->changes();
  follower_.reset();
}

void RegistrySubject::leave() {
  follower_.reset();
  if (reader_) {
    stream_events_ = reader_->events();
    stream_gaps_ = reader_->gaps();
  }
  reader_.reset();
}

void RegistrySubject::disk_fails() { disk_failed_in_.insert(scene_->timeline.current()); }

// The start writes, too, and is nobody's to restart.
void RegistrySubject::fail_task() {
  const bool runs = scene_->server->started() && !scene_->server->is_dark();
  if (!runs || calm_) return;
  auto& faults = scene_->world.faults();
  const std::uint64_t dice = mischief_.below(100);
  if (dice < 25) {
    faulty_->arm();
  } else if (dice < 45 && plan_.clock_jumps) {
    ++scene_->journal.tally.faults["clocks set"];
    scene_->server->node().clock().set_wall_skew(mischief_.between(-600s, Duration(600s)));
  } else if (dice < 55 && plan_.trouble.fills_up) {
    ++scene_->journal.tally.faults["disks filled up"];
    disk_fails();
    scene_->server->node().disk().set_capacity(64 * base::kKiB);
  } else if (plan_.trouble.fail_sync != 0) {
    ++scene_->journal.tally.faults["disks made to fail"];
    disk_fails();
    faults.fail_write = plan_.trouble.fail_write;
    faults.fail_sync = plan_.trouble.fail_sync;
    // Until it is repaired.
    scene_->world.after(mischief_.between(10ms, Duration(1s)), [this] {
      scene_->world.faults().fail_write = 0;
      scene_->world.faults().fail_sync = 0;
    });
  }
}

void RegistrySubject::calm_down() {
  calm_ = true;
  repair_disk();
  if (reader_) reader_->stop();
}

void RegistrySubject::repair_disk() {
  faulty_->disarm();
  scene_->world.faults().fail_write = 0;
  scene_->world.faults().fail_sync = 0;
  scene_->server->node().disk().set_capacity(kDiskBytes);
}

void RegistrySubject::invite_followers() {
  if (scene_->server->stopped()) return;
  if (!follower_) follower_.emplace(*scene_, service_->api(), ledger_);
  if (!reader_ && !calm_) reader_.emplace(*scene_, ledger_, token_);
}

// After every step of the world: what is published only ever grows, also from life to life, and is
// never less than what somebody was told.
std::optional<std::string> RegistrySubject::look() {
  if (service_ == nullptr || !scene_->server->started() || scene_->server->is_dark()) {
    return std::nullopt;
  }
  const registry::HeadPtr head = service_->core().views().head();
  if (!head) return std::nullopt;
  invite_followers();
  const std::uint64_t version = head->head.version;
  if (version < seen_) {
    return "HEAD went back from " + std::to_string(seen_) + " to " + std::to_string(version);
  }
  if (version < ledger_.newest()) {
    return "HEAD is " + std::to_string(version) + ", and somebody was told of " +
           std::to_string(ledger_.newest());
  }
  if (version == seen_) return std::nullopt;
  // A power cut may take what was published and told to nobody: only what was told binds it.
  seen_ = version;
  return std::nullopt;
}

// Takes a proposal the whole way, now and then badly, and reads in between.
class RegistrySubject::Session final : public Caller {
 public:
  Session(RegistrySubject& subject, Dice dice) : subject_(subject), dice_(dice) {}

  RequestPtr next(Dice& dice, bool alone) override {
    const RegistryRequestMaker& maker = subject_.maker_;
    if (!alone || dice_.chance(25)) return maker.any_read(dice, subject_.ledger_);
    const bool is_over =
        flow_ && (flow_->id.empty() || ((flow_->version || flow_->withdrawn) && dice_.chance(70)));
    if (!flow_ || is_over) {
      flow_ = std::make_shared<Flow>();
      flow_->changes_signers = subject_.plan_.rotates && dice_.chance(15);
      return maker.make(dice, Ask::Propose, flow_, 0, subject_.ledger_);
    }
    return maker.make(dice, any_step(), flow_, subject_.any_signer(dice_, *flow_),
                      subject_.ledger_);
  }

 private:
  // So many are likely to be enough of the old and of the new.
  static constexpr std::size_t kBoth = 4;

  Ask any_step() {
    using enum Ask;
    if (dice_.chance(4) || (flow_->withdrawn && dice_.chance(20))) return Withdraw;
    if (dice_.chance(12)) return dice_.pick({ApproveForged, ApproveUnknown, ShowProposal, Commit});
    if (flow_->changes_signers && flow_->approved.size() < kBoth) return Approve;
    // Some of them may not count any more.
    if (subject_.plan_.rotates && dice_.chance(30)) return Approve;
    return flow_->approved.size() < RegistryPlan::kThreshold ? Approve : Commit;
  }

  RegistrySubject& subject_;
  Dice dice_;
  std::shared_ptr<Flow> flow_;
};

// Mostly one who decides; of a change of signers anybody may.
std::size_t RegistrySubject::any_signer(Dice& dice, const Flow& flow) const {
  if (!plan_.rotates) return dice.below(RegistryPlan::kSigners);
  const bool knows = service_ != nullptr && service_->core().views().head() != nullptr;
  if (!knows || flow.changes_signers || dice.chance(10)) return dice.below(RegistryPlan::kKeys);
  const auto signers = service_->core().views().governance().set.signers;
  return maker_.signer_named(signers[dice.below(signers.size())].id).value_or(0);
}

std::unique_ptr<Caller> RegistrySubject::make_caller(Dice dice) {
  return std::make_unique<Session>(*this, dice);
}

std::optional<std::size_t> RegistrySubject::begin(const Request& request, unsigned) {
  const RegistryRequest* const asked = own(request);
  if (asked == nullptr) return std::nullopt;
  Begun begun{.floor = ledger_.newest()};
  if (asked->flow) {
    begun.commit_was_tried = asked->flow->commit_tried;
    begun.withdraw_was_tried = asked->flow->withdraw_tried;
    begun.was_withdrawn = asked->flow->withdrawn;
    begun.was_tried = asked->flow->tried.contains(asked->signer);
    if (asked->ask == Ask::Approve) asked->flow->tried.insert(asked->signer);
    if (asked->ask == Ask::Withdraw) asked->flow->withdraw_tried = true;
    if (asked->ask == Ask::Commit) {
      asked->flow->commit_tried = true;
      if (asked->flow->changes_signers) ledger_.signers_may_change();
    }
  }
  begun_.push_back(begun);
  return begun_.size() - 1;
}

Judgement RegistrySubject::answered(const Exchange& exchange) {
  const Begun begun = exchange.operation ? begun_[*exchange.operation] : Begun();
  const bool has_failed = disk_failed_in_.contains(exchange.life_number);
  const bool is_slow =
      plan_.world.faults.slow_sync != 0 || has_failed || !exchange.life->task_failures.empty();
  RegistryJudge judge(exchange, ledger_, begun, {has_failed, is_slow, plan_.keep_versions != 0});
  Judgement judgement = judge.judge();
  const RegistryRequest* const asked = own(*exchange.request);
  if (asked != nullptr && asked->flow) learn(*asked, *exchange.answer);
  return judgement;
}

void RegistrySubject::unanswered(const Exchange&, bool) {}

// What the client of a proposal knows from now on.
void RegistrySubject::learn(const RegistryRequest& request, const Answer& answer) {
  Flow& flow = *request.flow;
  if (answer.status >= 300) return;
  if (request.ask == Ask::Propose) {
    flow.text = unescape(json_text(answer.body, "sign"));
    ledger_.remember(request.flow);
  }
  if (request.ask == Ask::Approve) flow.approved.insert(request.signer);
  if (request.ask == Ask::Withdraw) ++withdrawn_;
  if (request.ask == Ask::Commit && answer.status == 201) {
    ++committed_;
    if (flow.changes_signers) ++rotated_;
  }
}

Task<void> RegistrySubject::audit(Talk* talk) {
  RegistryAuditor auditor(talk, &maker_, &ledger_, &service_->core(), plan_.keep_versions);
  co_await auditor.run();
  checked_ = auditor.checked();
  first_ = service_->core().first_version();
  const std::uint64_t head = service_->core().views().head()->head.version;
  if (!scene_->journal.failed() && follower_->seen() != head) {
    scene_->journal.violation("audit", "who follows HEAD " + std::to_string(head) +
                                           " has heard of " + std::to_string(follower_->seen()));
  }
}

void RegistrySubject::count(Tally& tally) const {
  tally.operations = begun_.size();
  tally.events["proposals acknowledged"] += ledger_.flows().size();
  tally.events["commits acknowledged"] += committed_;
  tally.events["withdrawals acknowledged"] += withdrawn_;
  tally.events["changes of signers"] += rotated_;
  tally.events["versions verified at the end"] += checked_;
  if (first_ != 0) ++tally.events["logs that were pruned"];
  tally.events["changes that were followed"] += changes_;
  tally.events["events of streams"] += stream_events_;
  tally.events["gaps of streams"] += stream_gaps_;
}

}  // namespace ron::sim
