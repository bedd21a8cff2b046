// DeficitRoundRobin: whose turn it is, when several wait (Shreedhar and Varghese, 1995).
//
// Each flow that has something waiting stands in the round. When its turn comes its deficit grows
// by its quantum, and it is served for as long as the deficit covers the cost of what is first in
// its line. So over any stretch in which two flows both wait, what they were served differs from
// the ratio of their quanta by a constant, however many requests either sends and however large
// they are.
//
// The cost of a request is an estimate when it comes and known when it is done: charge() makes up
// for the difference, and a flow may end up in debt. A debt is paid off by the rounds that pass,
// whether or not the flow waits in them, and is never larger than kMostDebt.
//
// Sans I/O, one owner. All entries are allocated in advance; at most twice as many flows are known
// as items can wait, and those that wait for nothing make room. next() is O(1) amortised while
// costs stay within a few quanta, and at most linear in the number of flows for any cost.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace ron::gateway {

using Cost = std::int64_t;

// `Key` identifies a flow, `Item` is what waits.
template <class Key, class Item>
class DeficitRoundRobin {
 public:
  // What a quantum of 1 is worth in one round: about two small requests. Whoever comes to an empty
  // line waits for as much of each other flow, so it is not more.
  static constexpr Cost kQuantumCost = 4;
  // The most one item or one correction counts for.
  static constexpr Cost kMostCost = 1 << 20;
  static constexpr Cost kMostDebt = kMostCost;

  // At most `capacity` items wait, in all flows together.
  explicit DeficitRoundRobin(std::size_t capacity) : entries_(capacity) {
    assert(capacity > 0 && capacity < kNone);
    for (std::uint32_t entry = 0; entry + 1 < capacity; ++entry) entries_[entry].next = entry + 1;
  }
  DeficitRoundRobin(const DeficitRoundRobin&) = delete;
  DeficitRoundRobin& operator=(const DeficitRoundRobin&) = delete;

  [[nodiscard]] bool full() const noexcept { return size_ == entries_.size(); }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  // Flows that are remembered, whether or not they wait.
  [[nodiscard]] std::size_t known() const noexcept { return flows_.size(); }

  // Must not be full. `quantum` holds from this flow's next turn on; at least 1.
  void enqueue(const Key& key, std::uint32_t quantum, Cost cost, Item item) {
    assert(!full() && quantum > 0);
    Flow& flow = flow_of(key);
    flow.quantum = kQuantumCost * static_cast<Cost>(quantum);
    const std::uint32_t place = std::exchange(free_, entries_[free_].next);
    entries_[place].cost = std::clamp<Cost>(cost, 1, kMostCost);
    entries_[place].next = kNone;
    entries_[place].item.emplace(std::move(item));
    ++size_;
    (flow.waiting == 0 ? flow.first : entries_[flow.last].next) = place;
    flow.last = place;
    if (++flow.waiting == 1) join(flow);
  }

  // The next item, if any waits.
  std::optional<Item> next() {
    std::size_t passed_over = 0;  // since an item was served or the round was moved on
    while (front_ != nullptr) {
      Flow& flow = *front_;
      if (!std::exchange(flow.has_turn, true)) flow.deficit += flow.quantum;
      if (entries_[flow.first].cost <= flow.deficit) return serve(flow);
      flow.has_turn = false;
      front_ = flow.next;
      if (++passed_over < in_round_) continue;
      // Nobody can afford its first item in this round: skip those in which that stays so.
      skip_rounds();
      passed_over = 0;
    }
    return std::nullopt;
  }

  // What a served item cost beyond its estimate; negative when it was less.
  void charge(const Key& key, Cost difference) {
    const auto found = flows_.find(key);
    if (found == flows_.end()) return;
    Flow& flow = found->second;
    pay_off(flow);
    const Cost bounded = std::clamp(difference, -kMostCost, kMostCost);
    // What was estimated too high comes back, but is not saved up for later.
    const Cost most = flow.waiting == 0 ? 0 : std::max<Cost>(flow.deficit, flow.quantum);
    flow.deficit = std::clamp(flow.deficit - bounded, -kMostDebt, most);
  }

  // Takes out every item of which `is_unwanted(item)` says so. Linear.
  template <class IsUnwanted>
  void remove_if(IsUnwanted is_unwanted) {
    for_each_waiting([&](Flow& flow) {
      std::uint32_t kept = kNone;
      for (std::uint32_t place = flow.first; place != kNone;) {
        const std::uint32_t after = entries_[place].next;
        if (is_unwanted(*entries_[place].item)) {
          (kept == kNone ? flow.first : entries_[kept].next) = after;
          release(flow, place);
        } else {
          kept = place;
        }
        place = after;
      }
      flow.last = kept;
    });
  }

  // Shortens the longest lines, from their ends, until at most `most` items wait; but nobody's to
  // nothing. `take` gets what is cut off. Linear but for a logarithm.
  template <class Take>
  void shorten(std::size_t most, Take take) {
    if (size_ <= most) return;
    const std::size_t length = length_within(most);
    for_each_waiting([&](Flow& flow) {
      if (flow.waiting <= length) return;
      std::uint32_t last = flow.first;
      for (std::size_t i = 1; i < length; ++i) last = entries_[last].next;
      for (std::uint32_t place = std::exchange(entries_[last].next, kNone); place != kNone;) {
        const std::uint32_t after = entries_[place].next;
        take(std::move(*entries_[place].item));
        release(flow, place);
        place = after;
      }
      flow.last = last;
    });
  }

  // Forgets the flows that wait for nothing and of which `is_idle(key)` says so, and their debts.
  template <class IsIdle>
  void forget_idle(IsIdle is_idle) {
    std::erase_if(
        flows_, [&](const auto& flow) { return flow.second.waiting == 0 && is_idle(flow.first); });
  }

  [[nodiscard]] std::size_t waiting(const Key& key) const {
    const auto found = flows_.find(key);
    return found == flows_.end() ? 0 : found->second.waiting;
  }
  [[nodiscard]] Cost deficit(const Key& key) const {
    const auto found = flows_.find(key);
    return found == flows_.end() ? 0 : found->second.deficit;
  }

 private:
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
  struct Entry {
    Cost cost = 0;
    std::uint32_t next = kNone;  // in its line, or among the free ones
    std::optional<Item> item;
  };
  struct Flow {
    std::uint32_t first = kNone;
    std::uint32_t last = kNone;
    std::size_t waiting = 0;
    Cost quantum = kQuantumCost;
    Cost deficit = 0;
    std::uint64_t left_in = 0;  // the round in which it last left, or was last paid off
    bool has_turn = false;      // it got its quantum and is still being served
    Flow* previous = nullptr;   // in the round, which is a ring
    Flow* next = nullptr;
  };

  // The flow, its debt reduced by the rounds it was absent.
  Flow& flow_of(const Key& key) {
    if (flows_.size() >= 2 * entries_.size() && !flows_.contains(key)) forget_some();
    Flow& flow = flows_[key];
    pay_off(flow);
    return flow;
  }
  // At most half of the flows wait for something, so this makes room for as many again.
  void forget_some() {
    std::erase_if(flows_, [](const auto& flow) {
      return flow.second.waiting == 0 && flow.second.deficit >= 0;
    });
    if (flows_.size() > entries_.size()) forget_idle([](const Key&) { return true; });
  }
  void pay_off(Flow& flow) {
    if (flow.waiting > 0) return;
    const std::uint64_t rounds = rounds_ - std::exchange(flow.left_in, rounds_);
    if (flow.deficit >= 0) return;
    const auto enough = static_cast<std::uint64_t>(-flow.deficit / flow.quantum) + 1;
    flow.deficit = std::min<Cost>(
        0, flow.deficit + flow.quantum * static_cast<Cost>(std::min(rounds, enough)));
  }

  // Last in the round.
  void join(Flow& flow) {
    flow.has_turn = false;
    ++in_round_;
    if (front_ == nullptr) front_ = flow.next = flow.previous = &flow;
    flow.next = front_;
    flow.previous = std::exchange(front_->previous, &flow);
    flow.previous->next = &flow;
  }
  void leave(Flow& flow) {
    --in_round_;
    flow.previous->next = flow.next;
    flow.next->previous = flow.previous;
    if (front_ == &flow) front_ = in_round_ == 0 ? nullptr : flow.next;
    // Nothing is saved up while nothing waits.
    flow.deficit = std::min<Cost>(flow.deficit, 0);
    flow.left_in = rounds_;
  }
  // The entry was taken out of its flow's line.
  void release(Flow& flow, std::uint32_t place) {
    entries_[place].item.reset();
    entries_[place].next = std::exchange(free_, place);
    --size_;
    if (--flow.waiting == 0) leave(flow);
  }
  // The flow may leave the round meanwhile.
  template <class Action>
  void for_each_waiting(Action action) {
    Flow* flow = front_;
    for (std::size_t left = in_round_; left > 0; --left) {
      Flow* after = flow->next;
      action(*flow);
      flow = after;
    }
  }

  std::optional<Item> serve(Flow& flow) {
    Entry& entry = entries_[flow.first];
    std::optional<Item> item = std::move(entry.item);
    const Cost cost = entry.cost;
    flow.deficit -= cost;
    work_ += cost;
    release(flow, std::exchange(flow.first, entry.next));
    // A round has passed when everybody present could have had its quantum.
    rounds_ += static_cast<std::uint64_t>(work_ / round_worth());
    work_ %= round_worth();
    return item;
  }

  [[nodiscard]] Cost round_worth() const noexcept {
    return kQuantumCost * static_cast<Cost>(std::max<std::size_t>(1, in_round_));
  }

  void skip_rounds() {
    Cost fewest = std::numeric_limits<Cost>::max();
    for_each_waiting([&](Flow& flow) {
      const Cost missing = entries_[flow.first].cost - flow.deficit;
      fewest = std::min(fewest, (missing + flow.quantum - 1) / flow.quantum);
    });
    // The last of them is given by next() itself.
    for_each_waiting([&](Flow& flow) { flow.deficit += (fewest - 1) * flow.quantum; });
  }

  // The greatest length of a line with which at most `most` items wait; at least 1.
  std::size_t length_within(std::size_t most) {
    std::size_t fits = 1;
    std::size_t too_long = size_;
    while (too_long - fits > 1) {
      const std::size_t length = fits + (too_long - fits) / 2;
      std::size_t left = 0;
      for_each_waiting([&](Flow& flow) { left += std::min(flow.waiting, length); });
      (left <= most ? fits : too_long) = length;
    }
    return fits;
  }

  std::vector<Entry> entries_;
  std::uint32_t free_ = 0;
  std::size_t size_ = 0;
  std::uint64_t rounds_ = 0;
  Cost work_ = 0;  // served in the present round
  std::unordered_map<Key, Flow> flows_;
  Flow* front_ = nullptr;  // of the flows with something waiting, the one that has the turn
  std::size_t in_round_ = 0;
};

}  // namespace ron::gateway
