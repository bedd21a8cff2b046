#include "services/edge/url_table.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "services/edge/wires.h"

namespace ron::edge {
namespace {

std::uint64_t disk_bytes(const Asset& asset) noexcept {
  return asset.facts.hold.empty() ? 0 : asset.facts.length + UrlTable::kRecordBytes;
}

bool is_same_variant(const Asset& a, const Asset& b) {
  return a.vary == b.vary && a.facts.preferences == b.facts.preferences;
}

std::uint64_t fingerprint(const Asset& asset) noexcept {
  const std::hash<std::string_view> hash;
  std::uint64_t mixed = hash(asset.facts.url);
  for (const std::string& text :
       {asset.facts.preferences.accept, asset.facts.preferences.accept_language}) {
    mixed = (mixed ^ (mixed >> 31)) * 0x9E3779B97F4A7C15ULL + hash(text);
  }
  return mixed;
}

// What the table no longer has, unless what took its place has the same bytes under the same name.
void let_go(AssetPtr asset, const Asset* successor, UrlTable::LetGo& gone) {
  if (successor != nullptr && successor->facts.hold == asset->facts.hold) return;
  gone.push_back(std::move(asset));
}

}  // namespace

UrlTable::Shard::Shard() : lock(kUrlsLock) {}

UrlTable::UrlTable(Bounds bounds, runtime::Counter* evicted)
    : order_lock_(kUrlOrderLock), evicted_(evicted), bounds_(bounds) {}

UrlTable::~UrlTable() = default;

UrlTable::Shard& UrlTable::shard_of(std::string_view url) const noexcept {
  return shards_[(TextHash{}(url) >> 32) % kShards];
}

UrlTable::Found UrlTable::find(std::string_view url, const Preferences& asked) const {
  const Shard& shard = shard_of(url);
  Found found;
  const std::lock_guard guard(shard.lock);
  const auto variants = shard.urls.find(url);
  if (variants == shard.urls.end()) return found;
  for (const auto& node : variants->second) {
    found.vary = found.vary | node->asset->vary;
    if (found.asset || !node->asset->fits(asked)) continue;
    found.asset = node->asset;
    if (node->hits.load(kRelaxed) < kit::FifoOrder<Node>::kMaxHits) {
      node->hits.fetch_add(1, kRelaxed);
    }
  }
  return found;
}

bool UrlTable::has(const Asset& asset) const {
  const Shard& shard = shard_of(asset.facts.url);
  const std::lock_guard guard(shard.lock);
  const auto variants = shard.urls.find(asset.facts.url);
  return variants != shard.urls.end() &&
         std::ranges::any_of(variants->second,
                             [&](const auto& node) { return node->asset.get() == &asset; });
}

UrlTable::LetGo UrlTable::put(AssetPtr asset) {
  LetGo gone;
  const std::lock_guard guard(order_lock_);
  if (disk_bytes(*asset) > bounds_.bytes) {
    gone.push_back(std::move(asset));
    return gone;
  }
  Shard& shard = shard_of(asset->facts.url);
  std::unique_ptr<Node> replaced;
  {
    const std::lock_guard shard_guard(shard.lock);
    Variants& variants = shard.urls[asset->facts.url];
    auto old = std::ranges::find_if(
        variants, [&](const auto& node) { return is_same_variant(*node->asset, *asset); });
    if (old == variants.end() && variants.size() == kMaxVariants) --old;
    if (old != variants.end()) {
      replaced = std::move(*old);
      variants.erase(old);
    }
  }
  bool is_proven = recall(*asset);
  if (replaced) {
    is_proven = is_proven || order_.is_proven(*replaced);
    replaced->in->unlink(*replaced);
    let_go(std::move(replaced->asset), asset.get(), gone);
  }
  add(std::move(asset), is_proven, gone);
  return gone;
}

void UrlTable::add(AssetPtr asset, bool is_proven, LetGo& gone) {
  auto node = std::make_unique<Node>();
  node->bytes = disk_bytes(*asset);
  node->asset = std::move(asset);
  order_.add(*node, is_proven);
  Shard& shard = shard_of(node->asset->facts.url);
  {
    const std::lock_guard guard(shard.lock);
    Variants& variants = shard.urls[node->asset->facts.url];
    variants.insert(variants.begin(), std::move(node));
  }
  make_room(gone);
}

// Out of the shard; the order is the caller's.
std::unique_ptr<UrlTable::Node> UrlTable::take(const Node& node) {
  Shard& shard = shard_of(node.asset->facts.url);
  const std::lock_guard guard(shard.lock);
  const auto variants = shard.urls.find(node.asset->facts.url);
  const auto found = std::ranges::find(variants->second, &node, &std::unique_ptr<Node>::get);
  std::unique_ptr<Node> taken = std::move(*found);
  variants->second.erase(found);
  if (variants->second.empty()) shard.urls.erase(variants);
  return taken;
}

void UrlTable::make_room(LetGo& gone) {
  while (order_.bytes() > bounds_.bytes || order_.count() > bounds_.entries) {
    const auto [victim, was_new] = order_.next(bounds_.bytes, bounds_.entries);
    const std::unique_ptr<Node> node = take(*victim);
    if (was_new) remember(*node->asset);
    if (evicted_ != nullptr) evicted_->add();
    gone.push_back(std::move(node->asset));
  }
  count();
}

void UrlTable::count() {
  entries_.store(order_.count(), kRelaxed);
  bytes_.store(order_.bytes(), kRelaxed);
}

void UrlTable::remember(const Asset& asset) {
  const auto [trace, is_new] = traces_.try_emplace(fingerprint(asset));
  if (is_new) {
    trace->second.fingerprint = trace->first;
    remembered_.push(trace->second);
  }
  while (remembered_.count() > kRememberedAtLeast + order_.count()) {
    Trace& oldest = *remembered_.oldest();
    remembered_.unlink(oldest);
    traces_.erase(traces_.find(oldest.fingerprint));
  }
}

bool UrlTable::recall(const Asset& asset) {
  const auto trace = traces_.find(fingerprint(asset));
  if (trace == traces_.end()) return false;
  remembered_.unlink(trace->second);
  traces_.erase(trace);
  return true;
}

bool UrlTable::erase(const Asset& asset) {
  const auto is_it = [&](const Asset& other) { return &other == &asset; };
  const std::lock_guard guard(order_lock_);
  Shard& shard = shard_of(asset.facts.url);
  Node* found = nullptr;
  {
    const std::lock_guard shard_guard(shard.lock);
    const auto variants = shard.urls.find(asset.facts.url);
    if (variants == shard.urls.end()) return false;
    const auto node = std::ranges::find_if(variants->second,
                                           [&](const auto& each) { return is_it(*each->asset); });
    if (node == variants->second.end()) return false;
    found = node->get();
  }
  const std::unique_ptr<Node> taken = take(*found);
  taken->in->unlink(*taken);
  count();
  return true;
}

UrlTable::LetGo UrlTable::erase_if(const std::function<bool(const Asset&)>& is_one) {
  LetGo gone;
  const std::lock_guard guard(order_lock_);
  for (Shard& shard : shards_) {
    const std::lock_guard shard_guard(shard.lock);
    for (auto url = shard.urls.begin(); url != shard.urls.end();) {
      std::erase_if(url->second, [&](const std::unique_ptr<Node>& node) {
        if (!is_one(*node->asset)) return false;
        node->in->unlink(*node);
        gone.push_back(std::move(node->asset));
        return true;
      });
      url = url->second.empty() ? shard.urls.erase(url) : std::next(url);
    }
  }
  count();
  return gone;
}

void UrlTable::set_bounds(Bounds bounds) {
  const std::lock_guard guard(order_lock_);
  bounds_ = bounds;
}

UrlTable::LetGo UrlTable::trim() {
  LetGo gone;
  const std::lock_guard guard(order_lock_);
  make_room(gone);
  return gone;
}

UrlTable::Bounds UrlTable::bounds() const {
  const std::lock_guard guard(order_lock_);
  return bounds_;
}

std::int64_t UrlTable::oldest_ms() const {
  std::int64_t oldest = 0;
  for (const Shard& shard : shards_) {
    const std::lock_guard guard(shard.lock);
    for (const auto& [url, variants] : shard.urls) {
      for (const auto& node : variants) {
        const std::int64_t since = node->asset->facts.times.received_ms;
        if (oldest == 0 || since < oldest) oldest = since;
      }
    }
  }
  return oldest;
}

}  // namespace ron::edge
