#include "sim/harness/run.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "sim/harness/client.h"
#include "sim/harness/monitor.h"
#include "sim/harness/server_node.h"
#include "sim/harness/talk.h"

namespace ron::sim {
namespace {

using namespace std::chrono_literals;
using platform::Signal;
using platform::sim::Node;
using platform::sim::Outcome;
using platform::sim::TraceKind;
using platform::sim::World;

std::string_view name(Outcome outcome) {
  switch (outcome) {
    case Outcome::Done:
      return "done";
    case Outcome::TimeLimit:
      return "out of time";
    case Outcome::Stuck:
      return "stuck: nothing will ever happen";
    case Outcome::StepLimit:
      return "spinning without end";
  }
  return "";
}

// Everything of one seed, in the order it is taken down.
class Run {
 public:
  Run(std::unique_ptr<Subject> subject, const RunOptions& options)
      : subject_(std::move(subject)),
        plan_(subject_->plan()),
        world_(plan_.seed, plan_.world),
        journal_(world_, options.print),
        scene_(*subject_, world_, journal_) {
    if (options.all_steps) world_.set_trace_sink(options.print);
    Node& server = world_.add_node({.cores = plan_.cores});
    for (const ClientPlan& client : plan_.clients) {
      const Node& node = world_.add_node();
      world_.network().set_link(server.id(), node.id(), client.link);
    }
    for (std::size_t i = 0; i < plan_.helpers; ++i) world_.add_node();
    world_.add_node();  // the auditor's
    server_ = std::make_unique<ServerNode>(scene_, server);
    subject_->enter(scene_);
    scene_.learn_limits();
  }

  void play();
  RunResult result();
  // False when something still runs that nothing can end: then this must not be destroyed.
  bool wind_down();

 private:
  void invite_clients();
  void plan_mishaps();
  void happen(const Mishap& mishap);
  void play_life(const LifePlan& life);
  void schedule(const LifePlan& life);
  void settle_and_audit();
  Task<void> audit();
  void stop_quietly();
  void leave();
  // Without a name for what is waited for, time may just pass.
  bool run_until(const std::function<bool()>& holds, Duration limit, std::string_view what);
  bool pass(Duration time) {
    return run_until([] { return false; }, time, "");
  }
  [[nodiscard]] bool clients_done() const {
    return std::ranges::all_of(clients_, [](const auto& client) { return client->done(); });
  }
  [[nodiscard]] Node& auditors_node() { return world_.node(world_.nodes() - 1); }
  [[nodiscard]] Duration patience() const;

  const std::unique_ptr<Subject> subject_;
  const Plan& plan_;
  World world_;
  Journal journal_;
  Scene scene_;
  std::unique_ptr<ServerNode> server_;
  std::vector<std::unique_ptr<Client>> clients_;
  std::unique_ptr<Monitor> monitor_;
  std::unique_ptr<platform::test::Root> auditor_;
};

void Run::invite_clients() {
  for (std::size_t i = 0; i < plan_.clients.size(); ++i) {
    Node& node = world_.node(1 + i);
    clients_.push_back(std::make_unique<Client>(scene_, node, plan_.clients[i], i));
  }
  monitor_ = std::make_unique<Monitor>(scene_, auditors_node());
}

void Run::plan_mishaps() {
  for (const Mishap& mishap : plan_.mishaps) {
    world_.after(mishap.at, [this, &mishap] { happen(mishap); });
  }
}

void Run::happen(const Mishap& mishap) {
  Node& node = world_.node(1 + mishap.client);
  platform::sim::Network& network = world_.network();
  const std::string who = "client " + std::to_string(mishap.client);
  switch (mishap.kind) {
    case Mishap::Kind::Partition:
      journal_.note("mishap", who + " is cut off");
      ++journal_.tally.faults["partitions"];
      network.partition(kServerNode, node.id());
      world_.after(mishap.lasts, [&network, &node] { network.heal(kServerNode, node.id()); });
      break;
    case Mishap::Kind::Deafen:
      journal_.note("mishap", who + " hears nothing");
      ++journal_.tally.faults["one-way partitions"];
      network.block(kServerNode, node.id());
      world_.after(mishap.lasts, [&network, &node] { network.unblock(kServerNode, node.id()); });
      break;
    case Mishap::Kind::Reset:
      journal_.note("mishap", "connections of " + who + " are reset");
      ++journal_.tally.faults["resets of all connections"];
      network.reset_connections(kServerNode, node.id());
      break;
    case Mishap::Kind::Vanish:
      journal_.note("mishap", who + " loses power");
      ++journal_.tally.faults["power cuts of clients"];
      node.power_cut();
      world_.after(mishap.lasts, [&node] { node.restart(); });
      break;
  }
}

// More than any client can need: each of its waits is bounded by a deadline of its own.
Duration Run::patience() const { return 10min; }

bool Run::run_until(const std::function<bool()>& holds, Duration limit, std::string_view what) {
  const auto step = [&] {
    if (const auto wrong = scene_.refusals.look()) journal_.violation("server", *wrong);
    if (const auto wrong = subject_->look()) journal_.violation("server", *wrong);
    return journal_.failed() || holds();
  };
  const Outcome outcome = world_.run_until(step, limit);
  const bool passed = outcome == Outcome::TimeLimit || outcome == Outcome::Stuck;
  if (passed && what.empty()) return !journal_.failed();
  if (outcome != Outcome::Done) {
    journal_.violation("world", std::string(what) + ": " + std::string(name(outcome)));
  }
  return !journal_.failed();
}

void Run::schedule(const LifePlan& life) {
  const unsigned number = scene_.timeline.current();
  const auto in_this_life = [this, number](auto what) {
    return [this, number, what = std::move(what)] {
      if (scene_.timeline.current() == number && !server_->stopped()) what();
    };
  };
  for (const ReloadPlan& reload : life.reloads) {
    world_.after(reload.after, in_this_life([this, &reload] {
                   server_->edit_config(reload);
                   server_->signal(Signal::Reload);
                 }));
  }
  for (const Duration after : life.task_failures) {
    world_.after(after, in_this_life([this] { subject_->fail_task(); }));
  }
  if (life.cut_after) {
    world_.after(*life.cut_after, in_this_life([this] { server_->cut_power(); }));
  }
  if (!life.stop_after) return;
  const auto terminate = in_this_life([this] { server_->signal(Signal::Terminate); });
  world_.after(*life.stop_after, terminate);
  if (life.abort_after) world_.after(*life.stop_after + *life.abort_after, terminate);
}

void Run::play_life(const LifePlan& life) {
  server_->begin(life.flags);
  schedule(life);
  const auto up = [this] { return server_->started() || server_->is_dark(); };
  if (!run_until(up, 10s + plan_.start_slack, "starting the service")) return;
  if (clients_.empty()) {
    invite_clients();
    plan_mishaps();
  }
  const auto ends = life.cut_after ? life.cut_after : life.stop_after;
  if (ends) {
    const Duration limit = *ends + 1min;
    if (!run_until([this] { return server_->stopped(); }, limit, "stopping the service")) return;
  } else {
    const auto quiet = [this, &life] {
      return clients_done() && server_->reloads() == life.reloads.size();
    };
    if (!run_until(quiet, patience(), "waiting for the clients")) return;
    settle_and_audit();
    if (journal_.failed()) return;
    stop_quietly();
  }
  if (journal_.failed()) return;
  // What its start had posted to other cores lands before what it is about goes.
  if (!server_->started() && !pass(plan_.moment())) return;
  server_->end();
}

Task<void> Run::audit() {
  Talk talk(scene_, "audit", auditors_node().host(), good_client());
  const bool open = co_await talk.open(false, 1s);
  if (!open) {
    journal_.violation("audit", "cannot connect in a quiet world");
    co_return;
  }
  Dice dice(plan_.seed ^ 0xA0D17ULL);
  const std::string ready = co_await talk.ask(make_probe(dice, "/readyz"));
  if (ready != "200") journal_.violation("audit", "not ready in a quiet world: " + ready);
  if (!journal_.failed()) co_await subject_->audit(&talk);
  ++journal_.tally.events["audits"];
}

// The network heals and time passes, until whatever the clients left behind must be gone.
void Run::settle_and_audit() {
  monitor_->stop();
  if (!run_until([this] { return monitor_->done(); }, 1min, "waiting for the monitor")) return;
  world_.faults() = {};
  world_.network().heal_all();
  subject_->calm_down();
  const auto write_waits = static_cast<Duration::rep>(2 + plan_.largest_body / (4 * base::kKiB));
  constexpr Duration kLinger = 1s;
  const bool settled =
      pass(scene_.longest_deadline + scene_.longest_read_timeout + scene_.longest_queue +
           scene_.longest_idle_timeout + scene_.longest_write_timeout * write_waits + kLinger +
           plan_.moment() + subject_->recovery());
  if (!settled) return;
  check_quiet(scene_, *server_);
  if (journal_.failed()) return;
  auditor_ = std::make_unique<platform::test::Root>(auditors_node().core(), audit());
  run_until([this] { return auditor_->done(); }, patience(), "auditing");
}

// With nobody but idle connections there is nothing to wait for.
void Run::stop_quietly() {
  server_->signal(Signal::Terminate);
  if (!run_until([this] { return server_->stopped(); }, 1min, "stopping the quiet service")) return;
  if (server_->aborted() != 0 || server_->stop_took() > plan_.moment()) {
    journal_.violation("server", "an idle service took " + base::print(server_->stop_took()) +
                                     " to stop and aborted " + std::to_string(server_->aborted()) +
                                     " tasks");
  }
}

void Run::play() {
  for (const LifePlan& life : plan_.lives) {
    play_life(life);
    if (journal_.failed()) return;
    if (!pass(life.down_for)) return;
  }
  leave();
}

// The service is down. Everybody goes, and then nothing may be left that could still happen.
void Run::leave() {
  monitor_->stop();
  const auto gone = [this] { return clients_done() && monitor_->done(); };
  if (!run_until(gone, patience(), "waiting for the clients")) return;
  auditor_.reset();
  monitor_.reset();
  clients_.clear();
  scene_.held.clear();
  subject_->leave();
  world_.faults() = {};
  world_.network().heal_all();
  journal_.tally.virtual_time = world_.now().time_since_epoch();
  const Outcome outcome = world_.run_until([] { return false; }, 1h);
  if (outcome != Outcome::Stuck) journal_.violation("world", "something goes on for ever");
  const std::size_t open = world_.network().open_connections();
  if (open != 0) journal_.violation("world", std::to_string(open) + " connections were leaked");
  if (const auto wrong = subject_->verdict()) journal_.violation("history", *wrong);
}

bool Run::wind_down() {
  if (!journal_.failed()) return true;
  auditor_.reset();
  monitor_.reset();
  clients_.clear();
  scene_.held.clear();
  subject_->leave();
  if (server_->ended()) return true;
  if (!server_->stopped()) {
    if (!server_->started()) return false;
    server_->signal(Signal::Terminate);
    server_->signal(Signal::Terminate);
    const Outcome outcome = world_.run_until([this] { return server_->stopped(); }, 1min);
    if (outcome != Outcome::Done) return false;
  }
  server_->end();
  world_.run_for(1s);  // what was still posted
  return true;
}

RunResult Run::result() {
  Tally& tally = journal_.tally;
  const auto fault = [&](std::string name, TraceKind kind) {
    const std::uint64_t count = world_.trace_count(kind);
    if (count != 0) tally.faults[std::move(name)] += count;
  };
  fault("segments split", TraceKind::Split);
  fault("segments lost", TraceKind::Lose);
  fault("segments held up by a partition", TraceKind::Stall);
  fault("connections reset", TraceKind::ResetFault);
  fault("connections refused", TraceKind::Refused);
  fault("accepts failed", TraceKind::AcceptFail);
  fault("writes cut short", TraceKind::ShortWrite);
  fault("events for nothing", TraceKind::Spurious);
  tally.events["refusals for want of room, checked"] += scene_.refusals.seen();
  subject_->count(tally);
  tally.steps = world_.steps();
  return {journal_.verdict(), world_.trace_hash() ^ (journal_.hash() * 0x9E3779B97F4A7C15ULL),
          tally};
}

}  // namespace

RunResult run_seed(std::uint64_t seed, const MakeSubject& make, const RunOptions& options) {
  auto run = std::make_unique<Run>(make(seed, options.plant), options);
  run->play();
  RunResult result = run->result();
  // What cannot be ended would be destroyed while it runs: rather leak it, the seed has failed.
  if (!run->wind_down()) static_cast<void>(run.release());
  return result;
}

}  // namespace ron::sim
