#include "sim/index/peer.h"

#include <utility>
#include <vector>

#include "runtime/deadline.h"

namespace ron::sim {

using namespace std::chrono_literals;
using platform::Signal;

Peer::Peer(Scene& scene, std::size_t helper, const Records& records)
    : scene_(scene),
      node_(scene.helper(helper)),
      records_(records),
      logs_(
          {.level = observe::Level::kOff, .unix_ms = [&scene] { return scene.world.unix_ms(); }}) {}

Peer::~Peer() { clear(); }

bool Peer::start() {
  if (!stopped()) return !stopping_;
  clear();
  if (std::exchange(dark_, false)) node_.restart();
  while (node_.signals().take() != Signal::None) {
  }
  started_ = stopping_ = stopped_ = false;
  root_ = std::make_unique<platform::test::Root>(node_.core(), live());
  return true;
}

void Peer::clear() {
  announcing_.reset();
  root_.reset();
  life_.reset();
  service_.reset();
}

Task<void> Peer::live() {
  auto config = scene_.load({"index.bind=" + node_.endpoint(kPeerPorts.bind).text(),
                             "index.admin=" + node_.endpoint(kPeerPorts.admin).text(),
                             "index.server.max_rps=1000000"});
  service_ = std::make_unique<index::Service>(
      kit::ServiceParts{.host = node_.host(),
                        .config = std::move(config),
                        .credentials = {scene_.subject.keyring(), nullptr},
                        .logs = &logs_},
      index::Directories{.data = "/index", .keys = ""});
  kit::LifeHooks hooks;
  hooks.on_listening = [this](kit::Service&, const kit::Endpoints&) {
    started_ = true;
    announcing_ = std::make_unique<platform::test::Root>(node_.core(), announce());
  };
  life_.emplace(node_.signals(), std::vector<kit::Service*>{service_.get()}, std::move(hooks));
  // One that finds its disk failing is started again when that is over.
  const base::Result<> lived = co_await life_->run();
  if (!lived) scene_.journal.note("peer", "did not start: " + lived.error().message);
  stopped_ = true;
}

Task<void> Peer::announce() {
  const IndexPlan& plan = static_cast<const IndexPlan&>(scene_.plan);
  bool is_taken = false;
  while (!is_taken) {
    std::vector<catalog::ProviderRecord> records;
    for (std::size_t address = 0; address < plan.addresses.size(); ++address) {
      if (IndexPlan::home(address) != IndexPlan::Home::Peers) continue;
      records.push_back(records_.good(address % IndexPlan::kNodes, address, Records::kFirstSeq));
    }
    const auto taken =
        co_await service_->api().announce(std::move(records), runtime::Deadline::in(5s));
    is_taken = taken.has_value();
    if (!is_taken) co_await runtime::sleep_for(50ms);
  }
}

void Peer::cut_power() {
  if (stopped() || std::exchange(dark_, true)) return;
  stopping_ = true;
  announcing_.reset();
  node_.power_cut();
  if (started_) {
    node_.signals().raise(Signal::Terminate);
    node_.signals().raise(Signal::Terminate);
    return;
  }
  // Nothing of it runs yet but its start.
  root_.reset();
}

void Peer::stop() {
  announcing_.reset();
  stopping_ = true;
  if (!stopped()) node_.signals().raise(Signal::Terminate);
}

}  // namespace ron::sim
