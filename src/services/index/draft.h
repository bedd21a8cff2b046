// Draft: the map as it will be once what was decided in this batch is written.
#pragma once

#include <map>
#include <optional>
#include <ranges>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "platform/key_value.h"
#include "platform/task.h"
#include "services/index/store.h"

namespace ron::index {

// One task; nobody else writes to the map meanwhile, which outlives it.
class Draft {
 public:
  explicit Draft(platform::KeyValue* map) : map_(map) {}

  // As it will be. Cancel-safe.
  platform::Task<base::Result<std::optional<std::string>>> get(std::string key) {
    const auto changed = changes_.find(key);
    if (changed != changes_.end()) co_return changed->second;
    co_return co_await map_->get(std::move(key));
  }
  // How many keys there are before this batch, at most `most`. Cancel-safe.
  platform::Task<base::Result<std::size_t>> count(std::string from, std::string until,
                                                  std::size_t most) {
    const auto pairs = co_await map_->scan(std::move(from), std::move(until), most);
    if (!pairs) co_return base::fail(pairs.error());
    co_return pairs->size();
  }
  void put(std::string key, std::string value) { note(std::move(key), std::move(value)); }
  void erase(std::string key) { note(std::move(key), std::nullopt); }

  // What was noted since the last job ended: the changes of this one.
  Store::Changes keep_job() {
    undo_.clear();
    return std::exchange(job_, {});
  }
  // As if the job had not been.
  void drop_job() {
    for (auto& [key, before] : std::views::reverse(undo_)) {
      if (before) {
        changes_[key] = std::move(*before);
      } else {
        changes_.erase(key);
      }
    }
    undo_.clear();
    job_.clear();
  }

 private:
  using Value = std::optional<std::string>;  // none: erased

  void note(std::string key, Value value) {
    const auto known = changes_.find(key);
    std::optional<Value> before;
    if (known != changes_.end()) before.emplace(known->second);
    undo_.emplace_back(key, std::move(before));
    changes_[key] = value;
    job_.push_back({std::move(key), std::move(value)});
  }

  platform::KeyValue* map_;
  std::map<std::string, Value, std::less<>> changes_;
  Store::Changes job_;
  std::vector<std::pair<std::string, std::optional<Value>>> undo_;  // how to drop the job
};

}  // namespace ron::index
