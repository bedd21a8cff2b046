#include "services/storage/announce_backlog.h"

#include <algorithm>
#include <ranges>

namespace ron::storage {

AnnounceBacklog::Noted AnnounceBacklog::note(const base::ObjectId& id, bool is_there,
                                             platform::TimePoint now) {
  const auto known = states_.find(id);
  if (known != states_.end()) {
    known->second.is_there = is_there;
    return Noted::Kept;
  }
  Noted noted = Noted::Kept;
  if (order_.size() >= most_) {
    if (is_there) return Noted::ListAgain;
    forget_those_there();
    if (order_.size() >= most_) return Noted::Lost;
    noted = Noted::ListAgain;
  }
  states_.emplace(id, State{is_there, now});
  order_.emplace(end_++, id);
  return noted;
}

void AnnounceBacklog::forget_those_there() {
  std::erase_if(order_, [this](const auto& entry) { return states_.at(entry.second).is_there; });
  std::erase_if(states_, [](const auto& entry) { return entry.second.is_there; });
}

std::vector<AnnounceBacklog::Item> AnnounceBacklog::take(std::size_t most) {
  const std::size_t count = std::min(most, order_.size());
  std::vector<Item> items;
  items.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto first = order_.begin();
    const auto state = states_.find(first->second);
    items.push_back({state->first, state->second.is_there, state->second.since});
    states_.erase(state);
    order_.erase(first);
  }
  return items;
}

void AnnounceBacklog::put_back(const std::vector<Item>& items) {
  for (const Item& item : items | std::views::reverse) {
    const auto [known, is_new] = states_.emplace(item.id, State{item.is_there, item.since});
    if (is_new) order_.emplace(--first_, item.id);
  }
}

std::optional<platform::TimePoint> AnnounceBacklog::oldest() const {
  if (order_.empty()) return std::nullopt;
  return states_.at(order_.begin()->second).since;
}

}  // namespace ron::storage
