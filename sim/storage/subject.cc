#include "sim/storage/subject.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "services/kit/capability_gate.h"
#include "services/storage/service.h"
#include "sim/harness/scene.h"
#include "sim/harness/server_node.h"
#include "sim/storage/audit.h"

namespace ron::sim {
namespace {

using Act = History::Act;
using Result = History::Result;

constexpr std::string_view kDirectory = "/data";

std::optional<Act> act_of(const ObjectRequest& request) {
  const bool puts = request.kind == Kind::Put || request.kind == Kind::Post;
  if (puts || request.kind == Kind::CommitUpload) return Act::Put;
  if (request.kind == Kind::Delete) return Act::Delete;
  if (request.reads()) return Act::Read;
  return std::nullopt;
}

// Whose hold a change is about. Without a tenant, and with every scope, one is an operator.
History::Who who_of(const ObjectRequest& request) {
  using Who = History::Who;
  if (request.token == TokenKind::Tenant) return Who::Tenant;
  const bool operates = request.token == TokenKind::Admin || request.token == TokenKind::Small;
  return operates ? Who::Operator : Who::Nameless;
}

// The monitor's requests are the harness's own.
const ObjectRequest* own(const Request& request) {
  return dynamic_cast<const ObjectRequest*>(&request);
}

// For what is none of storage's business.
class PlainJudge final : public Judge {
 public:
  using Judge::Judge;

 private:
  [[nodiscard]] bool has_own_reason(base::Code) const override { return false; }
  Wrong judge_own_refusal(base::Code) override { return std::nullopt; }
  Wrong judge_success() override { return std::nullopt; }
};

}  // namespace

std::unique_ptr<Subject> make_storage_subject(std::uint64_t seed, std::string_view plant) {
  return std::make_unique<StorageSubject>(make_plan(seed),
                                          plant_named(plant).value_or(Plant::None));
}

StorageSubject::StorageSubject(StoragePlan plan, Plant plant)
    : plan_(std::move(plan)),
      plant_(plant),
      maker_(plan_.payloads, tokens_),
      history_(plan_.on_disk) {}

StorageSubject::~StorageSubject() = default;

void StorageSubject::enter(Scene& scene) {
  scene_ = &scene;
  tokens_ = make_tokens(Dice(plan_.seed ^ 0x70C35ULL), scene.world.unix_ms() / 1000);
  disk_.emplace(scene.server->node().disk(), plant_ == Plant::SkipSync, [this] {
    ++scene_->journal.tally.faults["writers made to fail"];
    scene_->timeline.task_failed(scene_->world.now());
  });
}

const config::Schema& StorageSubject::schema() const {
  static const config::Schema all = [] {
    config::Schema made;
    made.add(kit::auth_section()).add(storage::storage_section());
    return made;
  }();
  return all;
}

std::shared_ptr<const kit::ServiceConfig> StorageSubject::settings(
    const config::Config& config) const {
  return config.get(storage::storage_section());
}

platform::Host StorageSubject::host(platform::Host machine) {
  return {machine.cores, machine.clock,      machine.random,  machine.net,      machine.resolver,
          *disk_,        machine.key_values, machine.signals, machine.blocking, machine.send_arena};
}

std::unique_ptr<kit::Service> StorageSubject::make_service(kit::ServiceParts parts) {
  std::vector<std::string> directories;
  if (plan_.on_disk) directories.emplace_back(kDirectory);
  return std::make_unique<storage::Service>(
      std::move(parts), std::move(directories),
      [this](http::Router& router, storage::ObjectStore& api) {
        planted_ = std::make_unique<Planted>(plant_, router, api);
      });
}

void StorageSubject::service_gone() {
  planted_.reset();
  disk_->disarm();
}

// The start writes, too, and is nobody's to restart.
void StorageSubject::fail_task() {
  const bool runs = scene_->server->started() && !scene_->server->is_dark();
  if (runs && !calm_) disk_->arm();
}

void StorageSubject::calm_down() {
  calm_ = true;
  disk_->disarm();
}

Duration StorageSubject::longest_queue(const config::Config& config) const {
  const auto storage = config.get(storage::storage_section());
  return storage->debug_work_delay * static_cast<Duration::rep>(storage->work_capacity + 1);
}

// Asks for anything; now and then it goes on with an upload, also after the service was down.
class StorageSubject::Session final : public Caller {
 public:
  Session(StorageSubject& subject, Dice dice) : subject_(subject), dice_(dice) {}

  RequestPtr next(Dice& dice, bool alone) override {
    const bool uploads = subject_.plan_.on_disk && alone && dice_.chance(25);
    if (!uploads) return subject_.maker_.any(dice, alone);
    if (upload_ != nullptr && upload_->over) upload_.reset();
    if (upload_ == nullptr || upload_->id.empty()) return begin(dice);
    return go_on(dice);
  }

 private:
  RequestPtr begin(Dice& dice) {
    const std::vector<Payload>& payloads = subject_.plan_.payloads;
    auto upload = std::make_shared<UploadModel>();
    upload->object = dice_.below(payloads.size() - 1);
    upload->length = payloads[upload->object].bytes.size();
    if (upload->length == 0) return subject_.maker_.any(dice, true);
    upload->tenants = dice_.chance(30);
    upload->names_address = dice_.chance(50);
    upload_ = std::move(upload);
    return subject_.maker_.step(dice, Kind::BeginUpload, upload_);
  }
  RequestPtr go_on(Dice& dice) {
    const auto step = [&](Kind kind, std::uint64_t part = 0) {
      return subject_.maker_.step(dice, kind, upload_, part);
    };
    const std::uint64_t roll = dice_.below(100);
    if (roll < 15) return step(Kind::ShowUpload);
    if (roll < 20) return step(Kind::AbortUpload);
    if (upload_->is_whole() || roll < 25) return step(Kind::CommitUpload);
    std::uint64_t part = dice_.below(upload_->parts());
    while (upload_->arrived.contains(part)) part = (part + 1) % upload_->parts();
    return step(Kind::PutPart, part);
  }

  StorageSubject& subject_;
  Dice dice_;
  std::shared_ptr<UploadModel> upload_;
};

std::unique_ptr<Caller> StorageSubject::make_caller(Dice dice) {
  return std::make_unique<Session>(*this, dice);
}

std::optional<std::size_t> StorageSubject::begin(const Request& request, unsigned life) {
  const ObjectRequest* const asked = own(request);
  if (asked == nullptr) return std::nullopt;
  if (asked->kind == Kind::PutPart) asked->upload->tried.insert(asked->part);
  const auto act = act_of(*asked);
  if (!act) return std::nullopt;
  return history_.begin(life, asked->object, *act, who_of(*asked));
}

Judgement StorageSubject::answered(const Exchange& exchange) {
  const ObjectRequest* const asked = own(*exchange.request);
  if (asked == nullptr) return PlainJudge(exchange).judge();
  const Facts facts{plan_.payloads, history_, plan_.moment()};
  StorageJudge judge(exchange, facts);
  Judgement judgement = judge.judge();
  if (exchange.operation) {
    history_.end(*exchange.operation, judge.result(), scene_->world.now());
  }
  if (asked->is_about_upload()) learn(*asked, *exchange.answer);
  return judgement;
}

void StorageSubject::unanswered(const Exchange& exchange, bool may_happen) {
  const ObjectRequest* const asked = own(*exchange.request);
  if (asked == nullptr) return;
  if (exchange.operation) {
    history_.end(*exchange.operation, may_happen ? Result::Unknown : Result::Nothing,
                 scene_->world.now());
  }
  if (!asked->is_about_upload() || !may_happen) return;
  if (asked->kind == Kind::CommitUpload) asked->upload->commit_tried = true;
  if (asked->kind == Kind::AbortUpload) asked->upload->abort_tried = true;
}

// What the client of an upload knows from now on.
void StorageSubject::learn(const ObjectRequest& request, const Answer& answer) {
  UploadModel& upload = *request.upload;
  const bool done = answer.status < 300;
  const bool may_be_done = done || answer.status >= 500;  // what it was, or will be, nobody says
  switch (request.kind) {
    case Kind::BeginUpload:
      if (done) upload.id = json_text(answer.body, "upload_id");
      upload.begun_in = scene_->timeline.current();
      break;
    case Kind::PutPart:
      if (!done) break;
      upload.arrived.insert(request.part);
      ++parts_acknowledged_;
      break;
    case Kind::ShowUpload:
      if (done && scene_->timeline.current() > upload.begun_in) ++uploads_shown_later_;
      break;
    case Kind::CommitUpload:
      upload.commit_tried = upload.commit_tried || may_be_done;
      if (done) ++uploads_committed_;
      upload.over = done;
      break;
    default:
      upload.abort_tried = upload.abort_tried || may_be_done;
      upload.over = done;
  }
  if (answer.status == 404) upload.over = true;
}

Task<void> StorageSubject::audit(Talk* talk) {
  Auditor auditor(talk, &maker_, &plan_);
  co_await auditor.run();
}

void StorageSubject::count(Tally& tally) const {
  tally.operations = history_.size();
  tally.acknowledged = history_.acknowledged();
  tally.acknowledged_and_read = history_.acknowledged_and_read();
  if (!plan_.on_disk) return;
  ++tally.events["seeds on disk"];
  tally.events["objects read in a later life than they were acknowledged in"] +=
      history_.survived();
  tally.events["parts acknowledged"] += parts_acknowledged_;
  tally.events["uploads committed"] += uploads_committed_;
  tally.events["uploads found in a later life than they were begun in"] += uploads_shown_later_;
}

}  // namespace ron::sim
