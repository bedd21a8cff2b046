#include "services/index/replays.h"

#include <mutex>
#include <utility>

#include "services/index/wires.h"

namespace ron::index {

Replays::Replays() : lock_(kAdminLock) {}

base::Result<std::optional<base::Value>> Replays::find(const std::string& key,
                                                       const std::string& request) const {
  const std::lock_guard guard(lock_);
  const auto found = entries_.find(key);
  if (found == entries_.end()) return std::nullopt;
  if (found->second.request != request) {
    return base::fail(base::Code::Malformed, "the Idempotency-Key stood for another request");
  }
  return found->second.answer;
}

void Replays::keep(const std::string& key, std::string request, base::Value answer) {
  const std::lock_guard guard(lock_);
  const bool is_new =
      entries_.insert_or_assign(key, Entry{std::move(request), std::move(answer)}).second;
  if (!is_new) return;
  if (order_.size() < kMost) {
    order_.push_back(key);
    return;
  }
  entries_.erase(std::exchange(order_[oldest_], key));
  oldest_ = (oldest_ + 1) % kMost;
}

}  // namespace ron::index
