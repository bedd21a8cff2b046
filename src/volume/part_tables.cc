#include "volume/part_tables.h"

#include <algorithm>
#include <mutex>
#include <utility>

namespace ron::volume {

PartTablePtr PartTables::find(const base::ObjectId& id, std::uint64_t sequence) {
  const std::lock_guard lock(lock_);
  auto found = young_.find(id);
  PartTablePtr table = found != young_.end() ? found->second : nullptr;
  if (table == nullptr) {
    found = old_.find(id);
    if (found == old_.end()) return nullptr;
    table = found->second;
    add_locked(id, table);
  }
  return table->sequence == sequence ? table : nullptr;
}

void PartTables::add(const base::ObjectId& id, PartTablePtr table) {
  const std::lock_guard lock(lock_);
  add_locked(id, std::move(table));
}

void PartTables::add_locked(const base::ObjectId& id, PartTablePtr table) {
  const std::size_t bytes = table->bytes();
  if (bytes > generation_bytes_) return;
  if (young_bytes_ + bytes > generation_bytes_) {
    old_ = std::exchange(young_, {});
    young_bytes_ = 0;
  }
  young_bytes_ += bytes;
  young_[id] = std::move(table);
}

void PartTables::forget_segment(std::uint64_t segment) {
  const auto holds = [segment](const auto& item) {
    return std::ranges::any_of(item.second->segments,
                               [segment](const SegmentPtr& s) { return s->number == segment; });
  };
  const std::lock_guard lock(lock_);
  std::erase_if(young_, holds);
  std::erase_if(old_, holds);
}

}  // namespace ron::volume
