#include "sim/harness/server_node.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "config/reload.h"
#include "services/kit/capability_gate.h"

namespace ron::sim {
namespace {

using namespace std::chrono_literals;
using platform::Signal;

constexpr std::string_view kTaskFailed = "\"msg\":\"task failed\"";

// Hands log lines to the journal; errors are something wrong, unless they are planned.
class JournalSink final : public observe::LogSink {
 public:
  JournalSink(Journal& journal, bool tasks_may_fail, bool dark)
      : journal_(journal), tasks_may_fail_(tasks_may_fail), dark_(dark) {}
  void write(std::string_view lines) override {
    while (!lines.empty()) {
      const std::size_t end = std::min(lines.find('\n'), lines.size());
      const std::string_view line = lines.substr(0, end);
      lines.remove_prefix(std::min(end + 1, lines.size()));
      const bool is_error = line.find("\"level\":\"error\"") != std::string_view::npos;
      const bool planned =
          dark_ || (tasks_may_fail_ && line.find(kTaskFailed) != std::string_view::npos);
      if (is_error && !planned) {
        journal_.violation("server", "logged an error: " + std::string(line));
      } else {
        journal_.note("server", line);
      }
    }
  }

 private:
  Journal& journal_;
  const bool tasks_may_fail_;
  const bool dark_;
};

}  // namespace

platform::SendMemory HeapArena::allocate(std::size_t bytes) {
  reserved_ += bytes;
  return {this, {new std::byte[bytes], bytes}, -1, 0};
}

void HeapArena::release(const platform::SendMemory& memory) noexcept {
  constexpr int kSpoilt = 0xDD;
  const base::ByteView bytes = memory.bytes();
  auto* const begin = const_cast<std::byte*>(bytes.data());
  std::memset(begin, kSpoilt, bytes.size());
  delete[] begin;
  reserved_ -= bytes.size();
}

ServerNode::ServerNode(Scene& scene, platform::sim::Node& node)
    : scene_(scene),
      node_(node),
      logs_({.level = observe::Level::kInfo,
             .format = observe::LogFormat::kJson,
             .queue_lines = 512,
             .queue_bytes = 64 * base::kKiB,
             .unix_ms = [this] { return scene_.world.unix_ms(); }}) {
  scene.server = this;
}

ServerNode::~ServerNode() { scene_.server = nullptr; }

platform::Host ServerNode::host() {
  const platform::Host machine = scene_.subject.host(node_.host());
  if (!scene_.plan.by_reference) return machine;
  return {machine.cores, machine.clock,      machine.random,  machine.net,      machine.resolver,
          machine.disk,  machine.key_values, machine.signals, machine.blocking, arena_};
}

Era ServerNode::era_of(std::shared_ptr<const config::Config> config) const {
  Era era;
  era.settings = scene_.subject.settings(*config);
  era.public_reads = config->get(kit::auth_section())->public_reads;
  era.config = std::move(config);
  return era;
}

void ServerNode::begin(const Flags& flags) {
  started_ = stopped_ = dark_ = false;
  stop_asked_ = abort_asked_ = kNever;
  aborted_ = reloads_ = 0;
  while (node_.signals().take() != Signal::None) {
  }
  auto config = scene_.load(flags);
  scene_.timeline.begin_life(era_of(config), now());
  root_ = std::make_unique<platform::test::Root>(node_.core(), live(std::move(config)));
  ++scene_.journal.tally.events["starts"];
}

Task<void> ServerNode::live(std::shared_ptr<const config::Config> config) {
  kit::ServiceParts parts{.host = host(),
                          .config = std::move(config),
                          .credentials = {scene_.subject.keyring(), nullptr},
                          .logs = &logs_};
  service_ = scene_.subject.make_service(std::move(parts));
  scene_.refusals.watch(
      service_->meters(), service_->topology(), scene_.timeline,
      [this](std::string_view detail) { return scene_.subject.level_of(detail); });
  services_ = scene_.subject.neighbours();
  services_.push_back(service_.get());
  life_.emplace(node_.signals(), services_, hooks());
  const base::Result<> lived = co_await life_->run();
  if (!lived) wrong("did not start: " + lived.error().message);
  if (life_->gave_up()) wrong("a critical task was given up");
  after_stop();
}

kit::LifeHooks ServerNode::hooks() {
  return {.next = [this] { return next(); },
          .on_listening = [this](kit::Service&, const kit::Endpoints& at) { listening(at); },
          .on_reload = [this](const config::ReloadRefused* why) { reloaded(why); },
          .on_stop = [this] { stop_asked(); },
          .on_abort =
              [this] {
                scene_.journal.note("server", "second stop signal");
                abort_asked_ = std::min(abort_asked_, now());
              }};
}

void ServerNode::listening(const kit::Endpoints& at) {
  if (dark_) return;
  if (!std::exchange(started_, true)) {
    scene_.timeline.opened(at.bind, at.admin, now());
    scene_.journal.note("server", "listening on " + at.bind.text());
    return;
  }
  scene_.timeline.settled(at.bind, at.admin, now(), now() + scene_.plan.moment());
  scene_.journal.note("server", "reloaded, listening on " + at.bind.text());
}

void ServerNode::stop_asked() {
  if (dark_) return;
  stop_asked_ = now();
  scene_.timeline.stop_asked(stop_asked_);
  scene_.journal.note("server", "stop asked for");
}

// What a dead process would have done next happens in the dark: it can neither be seen nor last.
void ServerNode::cut_power() {
  scene_.journal.note("server", "the power is cut");
  ++scene_.journal.tally.faults["power cuts of the server"];
  dark_ = true;
  note_end(true);
  node_.power_cut();
  if (started_) {
    signal(Signal::Terminate);
    signal(Signal::Terminate);
    return;
  }
  // Nothing of it runs yet but its start.
  root_.reset();
  stopped_ = true;
}

void ServerNode::note_end(bool cut) {
  scene_.timeline.ended(now(), cut);
  scene_.subject.life_ended(scene_.timeline.current());
}

void ServerNode::after_stop() {
  stopped_ = true;
  if (dark_ || !started_) return;
  const Duration drain = scene_.timeline.now_living().eras.back().settings->drain_deadline;
  aborted_ = life_->aborted();
  stop_took_ = now() - stop_asked_;
  note_end(false);
  scene_.journal.note("server", "stopped, " + std::to_string(aborted_) + " tasks aborted");
  ++scene_.journal.tally.events[aborted_ == 0 ? "stops, drained" : "stops, some aborted"];
  const TimePoint latest = std::min(stop_asked_ + drain, std::max(stop_asked_, abort_asked_));
  if (now() > latest + scene_.plan.moment()) {
    wrong("stopped " + base::print(now() - latest) + " too late");
  }
}

std::expected<kit::NextSetup, config::ReloadRefused> ServerNode::next() {
  ++reloads_;
  taken_ = next_;
  config::Inputs inputs;
  inputs.flags = taken_->flags;
  auto next = config::reload(scene_.subject.schema(), *service_->config(), inputs);
  if (!next) return std::unexpected(std::move(next.error()));
  scene_.journal.note("server", "reload begins");
  if (taken_->occupied_port) {
    node_.net().occupy(*taken_->occupied_port);
  } else {
    scene_.timeline.change(era_of(next->config), now());
  }
  return kit::NextSetup{std::move(*next), {scene_.subject.keyring(), nullptr}};
}

void ServerNode::reloaded(const config::ReloadRefused* why) {
  const std::optional<std::uint16_t> occupied = taken_->occupied_port;
  if (occupied) node_.net().release(*occupied);
  if ((why != nullptr) != occupied.has_value()) {
    wrong(why == nullptr ? "reloaded onto a port that is taken" : "reload failed: " + why->message);
    return;
  }
  if (why != nullptr) {
    scene_.journal.note("server", "reload failed: " + why->message);
    ++scene_.journal.tally.events["reloads, failed as planned"];
    return;
  }
  ++scene_.journal.tally.events["reloads"];
}

runtime::SeriesReading ServerNode::sum(std::string_view name) {
  runtime::SeriesReading sum;
  for (kit::Service* const service : services_) {
    for (const runtime::FamilyReading& family : service->meters().collect()) {
      if (family.decl->name != name) continue;
      for (const runtime::SeriesReading& series : family.series) {
        sum.level += series.level;
        sum.count += series.count;
      }
    }
  }
  return sum;
}

std::size_t ServerNode::planned_failures() const {
  return scene_.timeline.now_living().task_failures.size();
}

void ServerNode::check_log() {
  JournalSink sink(scene_.journal, planned_failures() != 0, dark_);
  logs_.drain(sink);
}

void ServerNode::check_stopped() {
  const std::size_t failures = planned_failures();
  if (gauge("http_connections") != 0) wrong("connections are left after the stop");
  if (gauge("http_inflight_requests") != 0) wrong("requests are in flight after the stop");
  if (counter("tasks_panicked_total") != failures) wrong("a task let an exception escape");
  if (counter("tasks_restarted_total") > failures) wrong("a task was restarted without need");
  if (counter("tasks_aborted_total") < aborted_) wrong("aborted tasks were not counted");
}

void ServerNode::end() {
  check_log();
  if (!dark_) check_stopped();
  scene_.refusals.leave();
  root_.reset();
  life_.reset();
  services_.clear();
  service_.reset();
  scene_.subject.service_gone();
  check_log();
  if (arena_.reserved_bytes() != 0) wrong("objects outlived the service");
  if (dark_) node_.restart();
}

}  // namespace ron::sim
