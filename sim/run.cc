#include "sim/run.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "sim/audit.h"
#include "sim/client.h"
#include "sim/server_node.h"

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
  Run(const Plan& plan, const RunOptions& options)
      : plan_(plan),
        world_(plan.seed, plan.world),
        journal_(world_, options.print),
        scene_(plan, world_, journal_) {
    if (options.all_steps) world_.set_trace_sink(options.print);
    Node& server = world_.add_node({.cores = plan.cores});
    for (const ClientPlan& client : plan.clients) {
      const Node& node = world_.add_node();
      world_.network().set_link(server.id(), node.id(), client.link);
    }
    world_.add_node();  // the auditor's
    learn_limits();
    server_ = std::make_unique<ServerNode>(scene_, server, options.plant);
  }

  void play();
  RunResult result();
  // False when something still runs that nothing can end: then this must not be destroyed.
  bool wind_down();

 private:
  void learn_limits();
  void invite_clients();
  void plan_mishaps();
  void happen(const Mishap& mishap);
  void play_life(const LifePlan& life);
  void schedule(const LifePlan& life);
  void settle_and_audit();
  void stop_quietly();
  void leave();
  bool run_until(const std::function<bool()>& holds, Duration limit, std::string_view what);
  [[nodiscard]] bool clients_done() const {
    return std::ranges::all_of(clients_, [](const auto& client) { return client->done(); });
  }
  [[nodiscard]] Node& auditors_node() { return world_.node(world_.nodes() - 1); }
  [[nodiscard]] Duration patience() const;

  const Plan& plan_;
  World world_;
  Journal journal_;
  Scene scene_;
  std::unique_ptr<ServerNode> server_;
  std::vector<std::unique_ptr<Client>> clients_;
  std::unique_ptr<Monitor> monitor_;
  std::unique_ptr<Auditor> auditor_;
};

void Run::learn_limits() {
  const auto learn = [this](const Flags& flags) {
    const auto config = load_config(flags)->get(storage::storage_section());
    const auto longest = [](Duration& known, Duration now) { known = std::max(known, now); };
    longest(scene_.longest_deadline, config->server.request_deadline);
    longest(scene_.longest_read_timeout, config->server.read_timeout);
    longest(scene_.longest_write_timeout, config->server.write_timeout);
    longest(scene_.longest_idle_timeout, config->server.idle_timeout);
    const auto jobs = static_cast<Duration::rep>(config->work_capacity + 1);
    longest(scene_.longest_queue, config->debug_work_delay * jobs);
  };
  for (const LifePlan& life : plan_.lives) {
    learn(life.flags);
    for (const ReloadPlan& reload : life.reloads) learn(reload.flags);
  }
}

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
  const Outcome outcome = world_.run_until([&] { return journal_.failed() || holds(); }, limit);
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
  if (!life.stop_after) return;
  const auto terminate = in_this_life([this] { server_->signal(Signal::Terminate); });
  world_.after(*life.stop_after, terminate);
  if (life.abort_after) world_.after(*life.stop_after + *life.abort_after, terminate);
}

void Run::play_life(const LifePlan& life) {
  server_->begin(life.flags);
  schedule(life);
  if (!run_until([this] { return server_->started(); }, 1s, "starting the service")) return;
  if (clients_.empty()) {
    invite_clients();
    plan_mishaps();
  }
  if (life.stop_after) {
    const Duration limit = *life.stop_after + 1min;
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
  server_->end();
}

// The network heals and time passes, until whatever the clients left behind must be gone.
void Run::settle_and_audit() {
  monitor_->stop();
  if (!run_until([this] { return monitor_->done(); }, 1min, "waiting for the monitor")) return;
  world_.faults() = {};
  world_.network().heal_all();
  std::size_t largest = 0;
  for (const Payload& payload : plan_.payloads) largest = std::max(largest, payload.bytes.size());
  const auto write_waits = static_cast<Duration::rep>(2 + largest / (4 * base::kKiB));
  constexpr Duration kLinger = 1s;
  world_.run_for(scene_.longest_deadline + scene_.longest_read_timeout + scene_.longest_queue +
                 scene_.longest_idle_timeout + scene_.longest_write_timeout * write_waits +
                 kLinger + plan_.moment());
  check_quiet(scene_, *server_);
  if (journal_.failed()) return;
  auditor_ = std::make_unique<Auditor>(scene_, auditors_node(), *server_);
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
    world_.run_for(life.down_for);
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
  world_.faults() = {};
  world_.network().heal_all();
  journal_.tally.virtual_time = world_.now().time_since_epoch();
  const Outcome outcome = world_.run_until([] { return false; }, 1h);
  if (outcome != Outcome::Stuck) journal_.violation("world", "something goes on for ever");
  const std::size_t open = world_.network().open_connections();
  if (open != 0) journal_.violation("world", std::to_string(open) + " connections were leaked");
  if (const auto wrong = scene_.history.check()) journal_.violation("history", *wrong);
}

bool Run::wind_down() {
  if (!journal_.failed()) return true;
  auditor_.reset();
  monitor_.reset();
  clients_.clear();
  scene_.held.clear();
  if (!server_->started() || server_->ended()) return server_->ended();
  server_->signal(Signal::Terminate);
  server_->signal(Signal::Terminate);
  const Outcome outcome = world_.run_until([this] { return server_->stopped(); }, 1min);
  if (outcome != Outcome::Done) return false;
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
  tally.operations = scene_.history.size();
  tally.acknowledged = scene_.history.acknowledged();
  tally.acknowledged_and_read = scene_.history.acknowledged_and_read();
  tally.steps = world_.steps();
  return {journal_.verdict(), world_.trace_hash() ^ (journal_.hash() * 0x9E3779B97F4A7C15ULL),
          tally};
}

}  // namespace

RunResult run_seed(std::uint64_t seed, const RunOptions& options) {
  const Plan plan = make_plan(seed);
  auto run = std::make_unique<Run>(plan, options);
  run->play();
  RunResult result = run->result();
  // What cannot be ended would be destroyed while it runs: rather leak it, the seed has failed.
  if (!run->wind_down()) static_cast<void>(run.release());
  return result;
}

}  // namespace ron::sim
