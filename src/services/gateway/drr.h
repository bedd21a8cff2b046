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
// Sans I/O, one owner. next() is O(1) amortised while costs stay within a few quanta, and at most
// linear in the number of flows for any cost.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <list>
#include <optional>
#include <unordered_map>
#include <utility>

namespace ron::gateway {

using Cost = std::int64_t;

// `Key` identifies a flow, `Item` is what waits.
template <class Key, class Item>
class DeficitRoundRobin {
 public:
  // What a quantum of 1 is worth in one round.
  static constexpr Cost kQuantumCost = 64;
  // The most one item or one correction counts for.
  static constexpr Cost kMostCost = 1 << 20;
  static constexpr Cost kMostDebt = kMostCost;

  // At most `capacity` items wait, in all flows together.
  explicit DeficitRoundRobin(std::size_t capacity) : capacity_(capacity) {}
  DeficitRoundRobin(const DeficitRoundRobin&) = delete;
  DeficitRoundRobin& operator=(const DeficitRoundRobin&) = delete;

  [[nodiscard]] bool full() const noexcept { return size_ == capacity_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::size_t flows() const noexcept { return round_.size(); }

  // Must not be full. `quantum` holds from this flow's next turn on; at least 1.
  void enqueue(const Key& key, std::uint32_t quantum, Cost cost, Item item) {
    assert(!full() && quantum > 0);
    Flow& flow = flow_of(key);
    flow.quantum = kQuantumCost * static_cast<Cost>(quantum);
    flow.waiting.push_back({std::clamp<Cost>(cost, 1, kMostCost), std::move(item)});
    ++size_;
    if (flow.waiting.size() == 1) {
      flow.place = round_.insert(round_.end(), &flow);
      flow.has_turn = false;
    }
  }

  // The next item, if any waits.
  std::optional<Item> next() {
    std::size_t passed_over = 0;  // since an item was served or the round was moved on
    while (!round_.empty()) {
      Flow& flow = *round_.front();
      if (!std::exchange(flow.has_turn, true)) flow.deficit += flow.quantum;
      if (flow.waiting.front().cost <= flow.deficit) return serve(flow);
      flow.has_turn = false;
      round_.splice(round_.end(), round_, round_.begin());
      if (++passed_over < round_.size()) continue;
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
    const Cost most = flow.waiting.empty() ? 0 : std::max<Cost>(flow.deficit, flow.quantum);
    flow.deficit = std::clamp(flow.deficit - bounded, -kMostDebt, most);
  }

  // Forgets the flows that wait for nothing and of which `is_idle(key)` says so, and their debts.
  template <class IsIdle>
  void forget_idle(IsIdle is_idle) {
    std::erase_if(flows_, [&](const auto& flow) {
      return flow.second.waiting.empty() && is_idle(flow.first);
    });
  }

  [[nodiscard]] std::size_t waiting(const Key& key) const {
    const auto found = flows_.find(key);
    return found == flows_.end() ? 0 : found->second.waiting.size();
  }
  [[nodiscard]] Cost deficit(const Key& key) const {
    const auto found = flows_.find(key);
    return found == flows_.end() ? 0 : found->second.deficit;
  }

 private:
  struct Entry {
    Cost cost;
    Item item;
  };
  struct Flow {
    std::deque<Entry> waiting;
    Cost quantum = kQuantumCost;
    Cost deficit = 0;
    std::uint64_t left_in = 0;  // the round in which it last left, or was last paid off
    bool has_turn = false;      // it got its quantum and is still being served
    typename std::list<Flow*>::iterator place{};
  };

  // The flow, its debt reduced by the rounds it was absent.
  Flow& flow_of(const Key& key) {
    Flow& flow = flows_[key];
    if (flow.waiting.empty()) pay_off(flow);
    return flow;
  }
  void pay_off(Flow& flow) {
    if (!flow.waiting.empty()) return;
    const std::uint64_t rounds = rounds_ - std::exchange(flow.left_in, rounds_);
    if (flow.deficit >= 0) return;
    const auto enough = static_cast<std::uint64_t>(-flow.deficit / flow.quantum) + 1;
    flow.deficit = std::min<Cost>(
        0, flow.deficit + flow.quantum * static_cast<Cost>(std::min(rounds, enough)));
  }

  std::optional<Item> serve(Flow& flow) {
    Entry entry = std::move(flow.waiting.front());
    flow.waiting.pop_front();
    --size_;
    flow.deficit -= entry.cost;
    work_ += entry.cost;
    if (flow.waiting.empty()) {
      round_.erase(flow.place);
      // Nothing is saved up while nothing waits.
      flow.deficit = std::min<Cost>(flow.deficit, 0);
      flow.left_in = rounds_;
    }
    // A round has passed when everybody present could have had its quantum.
    while (work_ >= round_worth()) {
      work_ -= round_worth();
      ++rounds_;
    }
    return std::optional<Item>(std::move(entry.item));
  }

  [[nodiscard]] Cost round_worth() const noexcept {
    return kQuantumCost * static_cast<Cost>(std::max<std::size_t>(1, round_.size()));
  }

  void skip_rounds() {
    Cost fewest = std::numeric_limits<Cost>::max();
    for (const Flow* flow : round_) {
      const Cost missing = flow->waiting.front().cost - flow->deficit;
      fewest = std::min(fewest, (missing + flow->quantum - 1) / flow->quantum);
    }
    // The last of them is given by next() itself.
    for (Flow* flow : round_) flow->deficit += (fewest - 1) * flow->quantum;
  }

  const std::size_t capacity_;
  std::size_t size_ = 0;
  std::uint64_t rounds_ = 0;
  Cost work_ = 0;  // served in the present round
  std::unordered_map<Key, Flow> flows_;
  std::list<Flow*> round_;  // flows with something waiting; the first has the turn
};

}  // namespace ron::gateway
