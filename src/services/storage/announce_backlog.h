// AnnounceBacklog: which objects an index has to hear of, in the order in which that was noticed.
// Of an object only what is so now counts: it is there, or it is gone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/object_id.h"
#include "platform/executor.h"

namespace ron::storage {

// Bounded. That an object is there can be forgotten, since a list of everything says it again; that
// it is gone cannot, so room is made for it as long as there is any. One executor.
class AnnounceBacklog {
 public:
  struct Item {
    base::ObjectId id;
    bool is_there = true;
    platform::TimePoint since;  // it waits
    friend bool operator==(const Item&, const Item&) = default;
  };

  explicit AnnounceBacklog(std::size_t most) noexcept : most_(most) {}

  enum class Noted : std::uint8_t {
    Kept,
    ListAgain,  // objects that are there were forgotten, this one or others
    Lost,       // that this one is gone
  };
  Noted note(const base::ObjectId& id, bool is_there, platform::TimePoint now);

  // The first of them, at most `most`.
  std::vector<Item> take(std::size_t most);
  // What was taken and not said waits again, where nothing newer is known.
  void put_back(const std::vector<Item>& items);

  [[nodiscard]] std::size_t size() const noexcept { return order_.size(); }
  // Since when the first one waits.
  [[nodiscard]] std::optional<platform::TimePoint> oldest() const;

 private:
  struct State {
    bool is_there;
    platform::TimePoint since;
  };

  void forget_those_there();

  const std::size_t most_;
  std::unordered_map<base::ObjectId, State, base::ObjectIdHash> states_;
  std::map<std::int64_t, base::ObjectId> order_;  // exactly those of states_, by place
  std::int64_t first_ = 0;                        // no place is below
  std::int64_t end_ = 0;                          // or as high
};

}  // namespace ron::storage
