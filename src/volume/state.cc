#include "volume/state.h"

#include <algorithm>
#include <iterator>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "base/about.h"

namespace ron::volume {

namespace {

// Looked at under one lock; there may be many, and commits wait for it.
constexpr std::size_t kTenantsAtOnce = 1024;

}  // namespace

VolumeState::VolumeState(platform::Host host, Options options, const runtime::LockDecl& lock_decl)
    : host_(host), options_(std::move(options)), lock_(lock_decl), tuning_(options_.tuning) {}

Tuning VolumeState::tuning() const {
  const std::lock_guard lock(lock_);
  return tuning_;
}

void VolumeState::set_tuning(const Tuning& tuning) {
  const std::lock_guard lock(lock_);
  tuning_ = tuning;
}

IndexPtr VolumeState::index() const {
  const std::lock_guard lock(lock_);
  return index_;
}

void VolumeState::set_index(IndexPtr index, std::uint64_t generation, Ledger ledger) {
  const std::lock_guard lock(lock_);
  index_ = std::move(index);
  generation_ = generation;
  ledger_ = std::move(ledger);
  quarantined_.store(ledger_.quarantine.size(), std::memory_order_release);
}

void VolumeState::close_index() {
  const std::lock_guard lock(lock_);
  index_.reset();
}

std::uint64_t VolumeState::generation() const {
  const std::lock_guard lock(lock_);
  return generation_;
}

SegmentPtr VolumeState::segment(std::uint64_t number) const {
  const std::lock_guard lock(lock_);
  const auto found = segments_.find(number);
  return found != segments_.end() ? found->second : nullptr;
}

std::vector<SegmentPtr> VolumeState::segments() const {
  const std::lock_guard lock(lock_);
  std::vector<SegmentPtr> all;
  all.reserve(segments_.size());
  for (const auto& [number, segment] : segments_) all.push_back(segment);
  return all;
}

void VolumeState::add_segment(SegmentPtr segment) {
  const std::lock_guard lock(lock_);
  const std::uint64_t number = segment->number;
  segments_[number] = std::move(segment);
}

void VolumeState::remove_segment(std::uint64_t number) {
  const std::lock_guard lock(lock_);
  segments_.erase(number);
}

bool VolumeState::any_segment_in(std::uint64_t first, std::uint64_t last, std::uint64_t but) const {
  const std::lock_guard lock(lock_);
  for (auto at = segments_.lower_bound(first); at != segments_.end() && at->first <= last; ++at) {
    if (at->first != but) return true;
  }
  return false;
}

void VolumeState::commit(const Draft& draft) {
  const std::lock_guard lock(lock_);
  draft.commit(ledger_);
  quarantined_.store(ledger_.quarantine.size(), std::memory_order_release);
}

std::map<std::uint64_t, SegmentEntry> VolumeState::segment_entries() const {
  const std::lock_guard lock(lock_);
  return ledger_.segments;
}

Usage VolumeState::usage(std::string_view tenant) const {
  const std::lock_guard lock(lock_);
  const auto found = ledger_.usage.find(tenant);
  return found != ledger_.usage.end() ? found->second : Usage{};
}

TenantUsage VolumeState::tenants(std::size_t most) const {
  TenantUsage found;
  std::optional<std::string> last;
  for (;;) {
    const std::lock_guard lock(lock_);
    const auto& usage = ledger_.usage;
    auto at = last ? usage.upper_bound(*last) : usage.begin();
    for (std::size_t i = 0; i < kTenantsAtOnce && at != usage.end(); ++i, ++at) {
      found.add(at->first, at->second, most);
    }
    if (at == usage.end()) return found;
    last = std::prev(at)->first;
  }
}

bool VolumeState::quarantined(const base::ObjectId& id) const {
  if (quarantined_.load(std::memory_order_acquire) == 0) return false;
  const std::lock_guard lock(lock_);
  return ledger_.quarantine.contains(id);
}

VolumeStats VolumeState::stats() const {
  VolumeStats stats;
  const std::uint64_t free = free_bytes.load(std::memory_order_relaxed);
  stats.free_bytes = free - std::min(free, tuning().min_free_bytes);
  stats.unreadable_bytes = unreadable_bytes.load(std::memory_order_relaxed);
  const std::lock_guard lock(lock_);
  stats.objects = ledger_.total.objects;
  stats.object_bytes = ledger_.total.bytes;
  for (const auto& [number, entry] : ledger_.segments) {
    stats.stored_bytes += entry.bytes;
    stats.dead_bytes += entry.dead_bytes();
  }
  stats.segments = segments_.size();
  stats.uploads = ledger_.meta.open_uploads;
  stats.quarantined = ledger_.quarantine.size();
  stats.index_bytes = index_ != nullptr ? index_->memory_bytes() : 0;
  return stats;
}

VolumeHealth VolumeState::health() const {
  VolumeHealth health;
  health.readable = !recovering();
  const std::lock_guard lock(lock_);
  health.writable = health.readable && write_trouble_.empty();
  health.reason = health.readable ? write_trouble_ : "recovering";
  if (health.reason.empty() && incomplete()) health.reason = "unreadable segments";
  return health;
}

void VolumeState::set_readable(bool readable) {
  readable_.store(readable, std::memory_order_release);
}

void VolumeState::set_write_trouble(std::string reason) {
  const std::lock_guard lock(lock_);
  write_trouble_ = std::move(reason);
}

void VolumeState::report_trouble(const base::Error& error) {
  if (on_trouble && error.code != base::Code::Canceled) on_trouble(error.message);
}

base::Error VolumeState::for_client(const base::Error& error) {
  using base::Code;
  report_trouble(error);
  const auto has = [](const base::Error& of, std::string_view key) {
    return std::ranges::any_of(of.details, [key](const auto& one) { return one.first == key; });
  };
  // The volume's own words, which name no files.
  if (error.code == Code::Degraded || has(error, "min_free_bytes")) return error;
  base::Error told =
      error.code == Code::StorageFull
          ? base::Error(Code::StorageFull,
                        "the disk is full: " + base::about(free_bytes.load()) + " are free")
          : base::Error(Code::StorageBusy, "the disk reports errors");
  told.details = error.details;
  const auto add = [&](std::string_view key, std::uint64_t value) {
    if (!has(told, key)) told.details.emplace_back(key, std::to_string(value));
  };
  add("failed_writes", failed_writes.load(std::memory_order_relaxed));
  add("free_bytes", free_bytes.load(std::memory_order_relaxed));
  return told;
}

}  // namespace ron::volume
