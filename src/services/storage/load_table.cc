#include "services/storage/load_table.h"

#include <utility>

#include "services/storage/wires.h"

namespace ron::storage {

LoadTable::LoadTable() : lock_(kLoadsLock) {}

LoadTable::Joined LoadTable::join(const base::ObjectId& id) {
  auto [sender, receiver] = runtime::oneshot<Answer>();
  std::optional<volume::Reply<ObjectPtr>> reply;
  std::shared_ptr<Load> load;
  {
    const std::lock_guard guard(lock_);
    std::weak_ptr<Load>& known = loads_[id];
    load = known.lock();
    if (!load) {
      auto [of_job, job] = runtime::oneshot<Answer>();
      load = std::make_shared<Load>(std::move(job));
      known = load;
      reply.emplace(std::move(of_job));
      reply->before_delivery(
          [this, id, mine = known](const Answer* answer) { finish(id, mine, answer); });
    }
    // Those who have left make room for those who come.
    if (load->waiting.size() == load->waiting.capacity()) {
      std::erase_if(load->waiting, [](const auto& one) { return one.abandoned(); });
    }
    load->waiting.push_back(std::move(sender));
  }
  return {Waiting(std::move(load), std::move(receiver)), std::move(reply)};
}

void LoadTable::finish(const base::ObjectId& id, const std::weak_ptr<Load>& load,
                       const Answer* answer) {
  std::shared_ptr<Load> ended;
  std::vector<runtime::OneshotSender<Answer>> waiting;
  {
    const std::lock_guard guard(lock_);
    const auto found = loads_.find(id);
    const auto is_this = [&](const std::weak_ptr<Load>& other) {
      return !load.owner_before(other) && !other.owner_before(load);
    };
    if (found != loads_.end() && is_this(found->second)) loads_.erase(found);
    ended = load.lock();
    if (ended) waiting = std::move(ended->waiting);
  }
  if (answer == nullptr) return;
  for (auto& one : waiting) std::move(one).send(*answer);
}

}  // namespace ron::storage
