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

// What a text takes beside itself; a short one is a part of its owner.
std::uint64_t heap_bytes(const std::string& text) noexcept {
  return text.capacity() > std::string().capacity() ? text.capacity() + 1 : 0;
}

// The key, the asset, its nodes, and what is remembered of it once it is gone. The allocator's part
// is counted in kOverheadBytes.
std::uint64_t memory_bytes_of(const Asset& asset, std::size_t node_bytes) noexcept {
  constexpr std::uint64_t kOverheadBytes = 256;
  const AssetFacts& facts = asset.facts;
  std::uint64_t bytes = kOverheadBytes + node_bytes + sizeof(Asset) + 2 * heap_bytes(facts.url) +
                        heap_bytes(facts.hold) + heap_bytes(asset.tag) + heap_bytes(asset.lines);
  for (const Preferences* each : {&facts.preferences, &asset.variant}) {
    bytes += heap_bytes(each->accept) + heap_bytes(each->accept_language);
  }
  for (const auto& [name, value] : facts.fields) bytes += heap_bytes(name) + heap_bytes(value);
  return bytes + facts.fields.capacity() * sizeof(KeptFields::value_type);
}

bool is_same_variant(const Asset& a, const Asset& b) {
  return a.vary == b.vary && a.variant == b.variant;
}

std::uint64_t fingerprint(const Asset& asset) noexcept {
  const std::hash<std::string_view> hash;
  std::uint64_t mixed = hash(asset.facts.url);
  for (const std::string& text : {asset.variant.accept, asset.variant.accept_language}) {
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
    // What a 404 is remembered for says nothing of how good answers are chosen.
    if (!node->asset->is_negative()) found.vary = found.vary | node->asset->vary;
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
  const std::lock_guard guard(order_lock_);
  return put_locked(std::move(asset));
}

std::optional<UrlTable::LetGo> UrlTable::put_unless_purged(AssetPtr asset, std::uint64_t purges) {
  const std::lock_guard guard(order_lock_);
  if (purges != purges_.load()) return std::nullopt;
  return put_locked(std::move(asset));
}

UrlTable::LetGo UrlTable::put_locked(AssetPtr asset) {
  LetGo gone;
  auto made = std::make_unique<Node>();
  made->bytes = disk_bytes(*asset);
  made->memory_bytes = memory_bytes_of(*asset, sizeof(Node) + sizeof(Trace));
  if (made->bytes > bounds_.bytes || made->memory_bytes > most_memory()) {
    gone.push_back(std::move(asset));
    return gone;
  }
  made->asset = std::move(asset);
  Node& node = *made;
  const std::unique_ptr<Node> replaced = insert(made);
  if (made) {
    gone.push_back(std::move(made->asset));
    return gone;
  }
  bool is_proven = recall(*node.asset);
  if (replaced) {
    is_proven = is_proven || order_.is_proven(*replaced);
    unlink(*replaced);
    let_go(std::move(replaced->asset), node.asset.get(), gone);
  }
  link(node, is_proven);
  make_room(gone);
  return gone;
}

// Which variant leaves for a further one: the oldest 404, else the oldest. A 404 takes no copy's
// place: anybody can ask for something that the origin does not have.
UrlTable::Variants::iterator UrlTable::place_for(const Asset& asset, Variants& variants) {
  const auto lacks = [](const auto& node) { return node->asset->is_negative(); };
  const auto last = std::find_if(variants.rbegin(), variants.rend(), lacks);
  if (last != variants.rend()) return std::prev(last.base());
  return asset.is_negative() ? variants.end() : std::prev(variants.end());
}

// Under one hold of the lock: whoever looks finds the one or the other.
std::unique_ptr<UrlTable::Node> UrlTable::insert(std::unique_ptr<Node>& node) {
  const Asset& asset = *node->asset;
  Shard& shard = shard_of(asset.facts.url);
  std::unique_ptr<Node> replaced;
  const std::lock_guard guard(shard.lock);
  Variants& variants = shard.urls[asset.facts.url];
  auto old = std::ranges::find_if(
      variants, [&](const auto& other) { return is_same_variant(*other->asset, asset); });
  const bool is_full = old == variants.end() && variants.size() == kMaxVariants;
  if (is_full) old = place_for(asset, variants);
  if (is_full && old == variants.end()) return replaced;
  if (old != variants.end()) {
    replaced = std::move(*old);
    variants.erase(old);
  }
  variants.insert(variants.begin(), std::move(node));
  return replaced;
}

void UrlTable::link(Node& node, bool is_proven) {
  order_.add(node, is_proven);
  memory_bytes_.fetch_add(node.memory_bytes, kRelaxed);
}

void UrlTable::unlink(Node& node) {
  node.in->unlink(node);
  memory_bytes_.fetch_sub(node.memory_bytes, kRelaxed);
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
  for (;;) {
    const bool is_large = memory_bytes_.load(kRelaxed) > most_memory();
    const bool is_full = order_.bytes() > bounds_.bytes || order_.count() > bounds_.entries;
    if (!is_large && !is_full) break;
    // Those that are large fill the table before there are as many as there may be.
    const std::uint64_t entries = std::min<std::uint64_t>(bounds_.entries, order_.count());
    const auto [victim, was_new] = order_.next(bounds_.bytes, is_large ? entries : bounds_.entries);
    memory_bytes_.fetch_sub(victim->memory_bytes, kRelaxed);
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
  unlink(*taken);
  count();
  return true;
}

UrlTable::LetGo UrlTable::purge(const std::function<bool(const Asset&)>& is_one) {
  LetGo gone;
  const std::lock_guard guard(order_lock_);
  purges_.fetch_add(1);
  for (Shard& shard : shards_) {
    const std::lock_guard shard_guard(shard.lock);
    for (auto url = shard.urls.begin(); url != shard.urls.end();) {
      std::erase_if(url->second, [&](const std::unique_ptr<Node>& node) {
        if (!is_one(*node->asset)) return false;
        unlink(*node);
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

std::int64_t UrlTable::oldest_ms(std::size_t part) const {
  std::int64_t oldest = 0;
  const Shard& shard = shards_[part];
  const std::lock_guard guard(shard.lock);
  for (const auto& [url, variants] : shard.urls) {
    for (const auto& node : variants) {
      const std::int64_t since = node->asset->facts.times.received_ms;
      if (oldest == 0 || since < oldest) oldest = since;
    }
  }
  return oldest;
}

}  // namespace ron::edge
