#include "platform/sim/devices.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "platform/sim/world.h"

namespace ron::platform::sim {

TimePoint SimClock::monotonic() const noexcept { return world_.now(); }

std::int64_t SimClock::unix_ms() const noexcept {
  return world_.unix_ms() + wall_skew_.count() / 1'000'000;
}

void SimRandom::fill(base::MutableBytes out) noexcept {
  while (!out.empty()) {
    const std::uint64_t value = source_.next();
    const std::size_t bytes = std::min(out.size(), sizeof value);
    std::memcpy(out.data(), &value, bytes);
    out = out.subspan(bytes);
  }
}

void SimSignals::raise(Signal signal) {
  world_.trace(TraceKind::Signal, node_, static_cast<std::uint64_t>(signal));
  waiting_.push_back(signal);
  arrived_.set();
}

Signal SimSignals::take() noexcept {
  if (waiting_.empty()) {
    arrived_.clear();
    return Signal::None;
  }
  const Signal signal = waiting_.front();
  waiting_.pop_front();
  return signal;
}

// A job takes no time at all, so that none is overdue.
TimePoint SimBlocking::now() const noexcept { return world_.now(); }

bool SimBlocking::try_submit(QueuedJob& job) {
  if (depth_ >= options_.capacity) return false;
  if (world_.chance(world_.faults().reject_blocking)) {
    world_.after(world_.up_to(options_.takes), [this] { fill_places(); });
    return false;
  }
  ++depth_;
  world_.trace(TraceKind::Blocking, node_, depth_);
  world_.after(world_.up_to(options_.takes),
               [this, epoch = epoch_, run = std::move(job.run)]() mutable {
                 if (epoch != epoch_) return;
                 --depth_;
                 fill_places();
                 run();
               });
  return true;
}

Task<base::Result<std::vector<Endpoint>>> SimResolver::resolve(std::string host,
                                                               std::uint16_t port) {
  auto answer = co_await blocking_.run(
      kResolveName, [this, name = std::move(host), port] { return find(name, port); });
  if (!answer) co_return base::fail(std::move(answer.error()));
  co_return std::move(*answer);
}

void SimResolver::set(const std::string& host, std::vector<Endpoint> addresses) {
  names_[host] = std::move(addresses);
}

base::Result<std::vector<Endpoint>> SimResolver::find(const std::string& host,
                                                      std::uint16_t port) const {
  const bool bare_v6 = host.find(':') != std::string::npos;
  const auto itself = Endpoint::parse((bare_v6 ? "[" + host + "]" : host) + ":0");
  const auto known = names_.find(host);
  std::vector<Endpoint> found;
  if (itself) found = {*itself};
  if (known != names_.end()) found = known->second;
  if (found.empty()) return base::fail(base::Code::NotFound, "cannot find host '" + host + "'");
  for (Endpoint& endpoint : found) endpoint.port = port;
  return found;
}

}  // namespace ron::platform::sim
