#include "services/index/searches.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "services/index/republisher.h"
#include "services/index/wires.h"

namespace ron::index {
namespace {

using base::Result;
using platform::Task;
using runtime::Deadline;

// For connections to be closed in peace.
constexpr base::Duration kLastWords = std::chrono::milliseconds(100);

TargetList targets_of(const IndexConfig& config) {
  return TargetList::parse(config.dht.proxies, config.peers, config.discovery.fixed).value();
}

BreakerSettings breaker_of(const BreakerConfig& config) {
  constexpr double kPercent = 100;
  return {.error_window = std::chrono::seconds(config.error_window_s),
          .trip_percent = static_cast<std::uint32_t>(std::lround(config.trip_threshold * kPercent)),
          .cooldown = std::chrono::seconds(config.cooldown_s),
          .half_open_probes = static_cast<std::uint32_t>(config.half_open_probes)};
}

TrustPolicy trust_of(const DiscoveryConfig& config) {
  TrustPolicy policy{.anyone = config.trust == TrustMode::Any, .max_ttl = config.max_ttl};
  for (const std::string& node : config.nodes) {
    policy.nodes.insert(auth::parse_public_key(node).value());
  }
  return policy;
}

SearchPolicy search_of(const DhtConfig& config) {
  return {.hedge = {.alpha = static_cast<std::uint32_t>(config.alpha),
                    .beta = static_cast<std::uint32_t>(config.beta),
                    .hedge_after = std::chrono::milliseconds(config.hedge_ms),
                    .quorum = static_cast<std::uint32_t>(config.quorum)},
          .deadline = std::chrono::milliseconds(config.deadline_ms)};
}

http::ClientSettings client_settings(const SearchParts& parts, const IndexConfig& config) {
  http::ClientSettings settings;
  settings.tls = parts.tls;
  settings.clock = &parts.host.clock;
  settings.resolver = &parts.host.resolver;
  // The resolvers, and besides them probes and publications: a probe that found no room would count
  // as failed, and a search must not wait for what is published.
  settings.max_connections =
      config.workers + config.breaker.half_open_probes + Republisher::kInFlight;
  settings.max_waiting = settings.max_connections;
  return settings;
}

}  // namespace

Searches::Searches(SearchParts parts, const IndexConfig& config)
    : host_(parts.host),
      targets_(targets_of(config)),
      breakers_(*parts.topology, targets_.names(), breaker_of(config.breaker), host_.random),
      trust_(host_, parts.topology->meters(), trust_of(config.discovery)),
      configured_(trust_of(config.discovery)),
      lock_(kSearchPolicyLock),
      policy_(search_of(config.dht)) {
  const DiscoveryParts shared{host_, &parts.topology->meters(), &targets_, &breakers_, &trust_};
  for (platform::Executor* const core : host_.cores) {
    loops_.push_back(std::make_unique<Loop>(*core, shared, client_settings(parts, config)));
  }
}

void Searches::apply(const IndexConfig& config) {
  configured_ = trust_of(config.discovery);
  set_trust();
  const std::lock_guard guard(lock_);
  policy_ = search_of(config.dht);
}

void Searches::set_own(const auth::PublicKey& node) {
  own_ = {node};
  set_trust();
}

void Searches::set_registered(std::set<auth::PublicKey> nodes) {
  registered_ = std::move(nodes);
  set_trust();
}

void Searches::set_trust() {
  TrustPolicy policy = configured_;
  policy.nodes.insert(own_.begin(), own_.end());
  policy.nodes.insert(registered_.begin(), registered_.end());
  trust_.set(std::move(policy));
}

Discovery& Searches::here() {
  const platform::Executor* const core = platform::Executor::current();
  const auto found = std::ranges::find_if(
      loops_, [core](const std::unique_ptr<Loop>& loop) { return &loop->home == core; });
  return (*found)->discovery;
}

Task<Result<Found>> Searches::find(base::ObjectId address, Deadline deadline) {
  SearchPolicy policy;
  {
    const std::lock_guard guard(lock_);
    policy = policy_;
  }
  return here().discover(address, policy, deadline);
}

Task<void> Searches::dial(std::size_t core, runtime::Shutdown shutdown) {
  co_await runtime::wait_stop(shutdown);
  co_await loops_[core]->discovery.close(Deadline::in(kLastWords));
}

Task<void> Searches::run_breaker_janitor(runtime::Shutdown shutdown) {
  return breakers_.run_janitor(
      [this](std::uint32_t target) { return loops_[0]->discovery.probe(target); },
      std::move(shutdown));
}

}  // namespace ron::index
