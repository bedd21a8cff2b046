#include "chain/descriptor_map.h"

#include <algorithm>
#include <atomic>
#include <cassert>

namespace ron::chain {
namespace {

// Each edit has its own: a chunk is changed in place only by the edit that made it.
std::uint64_t next_edit() noexcept {
  static std::atomic<std::uint64_t> latest = 0;
  return latest.fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace

DescriptorMap::DescriptorMap() {
  static const auto kNone = std::make_shared<const Root>();
  root_ = kNone;
}

DescriptorMap::Place DescriptorMap::place_of(const Root& root, std::string_view key) noexcept {
  // The last chunk that begins at the key or before it.
  const auto behind = std::ranges::upper_bound(root, key, {}, [](const auto& chunk) {
    return std::string_view(chunk->items.front()->first);
  });
  if (behind == root.begin()) return {};
  const auto chunk = std::prev(behind);
  const std::vector<Item>& items = (*chunk)->items;
  const auto item = std::ranges::lower_bound(
      items, key, {}, [](const Item& one) { return std::string_view(one->first); });
  return {static_cast<std::size_t>(chunk - root.begin()),
          static_cast<std::size_t>(item - items.begin()),
          item != items.end() && (*item)->first == key};
}

DescriptorMap::ConstIterator DescriptorMap::lower_bound(std::string_view key) const noexcept {
  if (root_->empty()) return end();
  const Place place = place_of(*root_, key);
  if (place.item < (*root_)[place.chunk]->items.size()) {
    return {root_.get(), place.chunk, place.item};
  }
  return {root_.get(), place.chunk + 1, 0};
}

DescriptorMap::ConstIterator DescriptorMap::find(std::string_view key) const noexcept {
  const Place place = place_of(*root_, key);
  return place.is_there ? ConstIterator(root_.get(), place.chunk, place.item) : end();
}

const DescriptorPtr& DescriptorMap::at(std::string_view key) const noexcept {
  const ConstIterator found = find(key);
  assert(found != end());
  return found->second;
}

DescriptorMap::Edit::Edit(DescriptorMap& map)
    : map_(map), root_(std::make_shared<Root>(*map.root_)), id_(next_edit()) {}

void DescriptorMap::Edit::finish() {
  if (root_) map_.root_ = std::exchange(root_, nullptr);
}

DescriptorMap::Chunk& DescriptorMap::Edit::own(std::size_t chunk) {
  std::shared_ptr<Chunk>& place = (*root_)[chunk];
  if (place->made_by != id_) place = std::make_shared<Chunk>(Chunk{id_, place->items});
  return *place;
}

DescriptorPtr DescriptorMap::Edit::get(std::string_view key) const {
  const Place place = place_of(*root_, key);
  return place.is_there ? (*root_)[place.chunk]->items[place.item]->second : nullptr;
}

void DescriptorMap::Edit::set(const std::string& key, DescriptorPtr value) {
  auto item = std::make_shared<const value_type>(key, std::move(value));
  if (root_->empty()) {
    root_->push_back(std::make_shared<Chunk>(Chunk{id_, {std::move(item)}}));
    ++map_.size_;
    return;
  }
  const Place place = place_of(*root_, key);
  Chunk& chunk = own(place.chunk);
  const auto at = chunk.items.begin() + static_cast<std::ptrdiff_t>(place.item);
  if (place.is_there) {
    *at = std::move(item);
    return;
  }
  chunk.items.insert(at, std::move(item));
  ++map_.size_;
  if (chunk.items.size() <= kChunkItems) return;
  const auto middle = chunk.items.begin() + kChunkItems / 2;
  auto upper = std::make_shared<Chunk>(Chunk{id_, {middle, chunk.items.end()}});
  chunk.items.erase(middle, chunk.items.end());
  root_->insert(root_->begin() + static_cast<std::ptrdiff_t>(place.chunk) + 1, std::move(upper));
}

void DescriptorMap::Edit::erase(std::string_view key) {
  const Place place = place_of(*root_, key);
  if (!place.is_there) return;
  Chunk& chunk = own(place.chunk);
  chunk.items.erase(chunk.items.begin() + static_cast<std::ptrdiff_t>(place.item));
  --map_.size_;
  if (chunk.items.empty()) {
    root_->erase(root_->begin() + static_cast<std::ptrdiff_t>(place.chunk));
  } else {
    merge_small(place.chunk);
  }
}

// So that removals do not leave a chunk for each descriptor.
void DescriptorMap::Edit::merge_small(std::size_t chunk) {
  if (chunk + 1 >= root_->size()) return;
  const std::vector<Item>& next = (*root_)[chunk + 1]->items;
  Chunk& first = own(chunk);
  if (first.items.size() + next.size() > kChunkItems / 2) return;
  first.items.insert(first.items.end(), next.begin(), next.end());
  root_->erase(root_->begin() + static_cast<std::ptrdiff_t>(chunk) + 1);
}

}  // namespace ron::chain
