#include "sim/harness/refusals.h"

#include <algorithm>
#include <utility>

#include "runtime/metric_names.h"
#include "sim/harness/plan.h"

namespace ron::sim {
namespace {

constexpr std::string_view kMaxConns = "max_conns";
constexpr std::string_view kMaxConnsPerIp = "max_conns_per_ip";
constexpr std::string_view kMaxInflight = "max_inflight";

}  // namespace

void Refusals::watch(runtime::Meters& meters, const runtime::Topology& topology,
                     const Timeline& timeline, Measure measure) {
  meters_ = &meters;
  measure_ = std::move(measure);
  topology_ = &topology;
  timeline_ = &timeline;
  watched_.clear();
  const auto add = [this](std::string_view detail, const runtime::Counter& counter) {
    watched_.push_back({std::string(detail), &counter, counter.value()});
  };
  using runtime::metrics::kRejectedTotal;
  add(kMaxConns, meters.counter(kRejectedTotal, {"connections"}));
  add(kMaxConnsPerIp, meters.counter(kRejectedTotal, {"connections-per-ip"}));
  add(kMaxInflight, meters.counter(kRejectedTotal, {"inflight"}));
  for (const runtime::ChannelDecl& channel : topology.wires().channels) {
    if (channel.overflow != runtime::Overflow::RejectNew) continue;
    add(channel.name,
        meters.counter(runtime::metrics::kQueueDroppedTotal, {std::string(channel.name)}));
  }
}

std::uint64_t Refusals::gauge(std::string_view name) const {
  std::int64_t sum = 0;
  for (const runtime::FamilyReading& family : meters_->collect()) {
    if (family.decl->name != name) continue;
    for (const runtime::SeriesReading& series : family.series) sum += series.level;
  }
  return static_cast<std::uint64_t>(std::max<std::int64_t>(sum, 0));
}

// Around a reload either setting may count.
std::uint64_t Refusals::least(std::uint64_t http::ServerSettings::* limit) const {
  std::uint64_t found = UINT64_MAX;
  const auto note = [&](const Era& era) {
    found = std::min(found, era.settings->server.*limit);
    return false;
  };
  static_cast<void>(timeline_->now_living().any(world_.now(), world_.now(), note));
  return found;
}

Level Refusals::level(const Watched& watched) const {
  using Settings = http::ServerSettings;
  if (watched.detail == kMaxConns) {
    return {gauge("http_connections"), least(&Settings::max_conns)};
  }
  if (watched.detail == kMaxInflight) {
    return {gauge("http_inflight_requests"), least(&Settings::max_inflight)};
  }
  if (watched.detail == kMaxConnsPerIp) {
    // The one that was turned away is open, too, while it is told so.
    const std::size_t open = world_.network().most_streams_of_a_peer(kServerNode);
    return {open == 0 ? 0 : open - 1, least(&Settings::max_conns_per_ip)};
  }
  if (measure_) {
    if (const auto measured = measure_(watched.detail)) return *measured;
  }
  for (const runtime::Topology::Sample& queue : topology_->sample()) {
    if (queue.decl->name == watched.detail) return {queue.depth, queue.capacity};
  }
  return {0, 1};
}

std::optional<std::string> Refusals::look() {
  if (meters_ == nullptr) return std::nullopt;
  for (Watched& watched : watched_) {
    const std::uint64_t now = watched.refused->value();
    if (now == watched.before) continue;
    watched.before = now;
    const Level level = this->level(watched);
    if (level.used < level.most) {
      return "refused for want of " + watched.detail + ", though only " +
             std::to_string(level.used) + " of " + std::to_string(level.most) + " were in use";
    }
    add(watched.detail, world_.now());
  }
  return std::nullopt;
}

bool Refusals::any(std::string_view detail, TimePoint begin, TimePoint end) const {
  return std::ranges::any_of(seen_, [&](const Seen& seen) {
    return seen.at >= begin && seen.at <= end && (detail.empty() || seen.detail == detail);
  });
}

}  // namespace ron::sim
