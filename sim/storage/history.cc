#include "sim/storage/history.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace ron::sim {
namespace {

using Act = History::Act;
using Result = History::Result;

constexpr std::string_view name(Act act) {
  switch (act) {
    case Act::Put:
      return "put";
    case Act::Delete:
      return "delete";
    case Act::Read:
      return "read";
  }
  return "";
}

constexpr std::string_view name(Result result) {
  switch (result) {
    case Result::Unknown:
      return "no answer";
    case Result::Nothing:
      return "refused";
    case Result::Added:
      return "added";
    case Result::AlreadyThere:
      return "already there";
    case Result::Stored:
      return "stored";
    case Result::Removed:
      return "removed";
    case Result::NotThere:
      return "not there";
    case Result::Present:
      return "present";
    case Result::Absent:
      return "absent";
  }
  return "";
}

constexpr std::string_view name(History::Who who) {
  switch (who) {
    case History::Who::Operator:
      return "operator";
    case History::Who::Nameless:
      return "nameless";
    case History::Who::Tenant:
      return "tenant";
  }
  return "";
}

// It may have stored the object, or taken it away.
constexpr bool may_add(Act act, Result result) {
  return result == Result::Added || result == Result::Stored ||
         (act == Act::Put && result == Result::Unknown);
}
constexpr bool may_remove(Act act, Result result) {
  return result == Result::Removed || (act == Act::Delete && result == Result::Unknown);
}

}  // namespace

std::size_t History::begin(unsigned life, std::size_t object, Act act, Who who) {
  operations_.push_back({life, object, act, who, Result::Unknown, moment_++, kNeverEnds, kNever});
  return operations_.size() - 1;
}

void History::end(std::size_t operation, Result result, TimePoint now) {
  operations_[operation].result = result;
  if (result == Result::Unknown) return;
  operations_[operation].end = moment_++;
  operations_[operation].ended = now;
}

std::size_t History::copies(unsigned life, std::size_t object, TimePoint since) const {
  std::size_t added = 0;
  std::size_t removed = 0;
  std::uint64_t last_removal = 0;  // when the last one was over
  for (const Operation& each : operations_) {
    if (each.life != life || each.object != object) continue;
    if (may_add(each.act, each.result)) ++added;
    if (!may_remove(each.act, each.result)) continue;
    ++removed;
    last_removal = std::max(last_removal, each.end);
  }
  const auto holds = [&](const Operation& each) {
    return each.life == life && each.object == object && each.act == Act::Read &&
           each.begin < last_removal && each.ended >= since;
  };
  const auto readers = static_cast<std::size_t>(std::ranges::count_if(operations_, holds));
  return std::min(added, 1 + std::min(removed, readers));
}

// The operations that say something, each with the last moment at which it can have taken effect:
// its answer, or the end of its life if that came first.
std::vector<History::Operation> History::within_lives() const {
  std::vector<Operation> all;
  for (Operation operation : operations_) {
    if (operation.result == Result::Nothing) continue;
    if (operation.act == Act::Read && operation.optional()) continue;
    const auto life_end = life_ends_.find(operation.life);
    if (life_end != life_ends_.end()) operation.end = std::min(operation.end, life_end->second);
    if (operation.optional() && operation.begin >= operation.end) continue;
    all.push_back(operation);
  }
  return all;
}

std::vector<History::Group> History::groups(const std::vector<Operation>& operations) const {
  std::map<std::pair<unsigned, std::size_t>, Group> found;
  for (const Operation& operation : operations) {
    found[{lasts_ ? 0 : operation.life, operation.object}].push_back(&operation);
  }
  std::vector<Group> all;
  for (auto& [key, group] : found) all.push_back(std::move(group));
  return all;
}

std::optional<History::Holders> History::after(const Operation& operation, Holders holders) {
  const Holders own = operation.who == Who::Tenant ? 2 : 1;
  const bool outright = operation.act == Act::Delete && operation.who == Who::Operator;
  const Holders removable = outright ? holders : holders & own;
  const auto if_so = [](bool possible, Holders then) {
    return possible ? std::optional(then) : std::nullopt;
  };
  switch (operation.result) {
    case Result::Nothing:
      return holders;
    case Result::Added:
      return if_so(holders == 0, own);
    case Result::AlreadyThere:
      return if_so(holders != 0, holders | own);
    case Result::Stored:
      return holders | own;
    case Result::Removed:
      return if_so(removable != 0, holders & ~removable);
    case Result::NotThere:
      return if_so(removable == 0, holders);
    case Result::Present:
      return if_so(holders != 0, holders);
    case Result::Absent:
      return if_so(holders == 0, holders);
    case Result::Unknown:
      break;
  }
  if (operation.act == Act::Read) return holders;
  return operation.act == Act::Put ? holders | own : holders & ~removable;
}

// Takes the operations in an order that explains them, one by one. Those that leave the state as it
// is, and would do so later, too, are taken as soon as they may: that never rules anything out. Of
// several that do the same for the same holder with the same result, and may all be next, whichever
// must end sooner can stand where another stood in any order that works; so one of each kind is
// tried, and no situation twice. Or else a life ends here, and what it left undone never happens.
class History::Search {
 public:
  bool explains(Group left, Holders holders) {
    std::uint64_t first_end = kNeverEnds;
    do {
      if (std::ranges::all_of(left, &Operation::optional)) return true;
      first_end = kNeverEnds;
      for (const Operation* operation : left) first_end = std::min(first_end, operation->end);
    } while (take_idle(left, holders, first_end));
    if (!seen_.emplace(left, holders).second) return false;
    std::map<std::tuple<Act, Who, Result>, std::size_t> next;  // that must end first of its kind
    for (std::size_t i = 0; i < left.size(); ++i) {
      const auto then = after(*left[i], holders);
      if (left[i]->begin >= first_end || !then) continue;
      if (left[i]->optional() && *then == holders) continue;
      const auto [kind, first] = next.try_emplace({left[i]->act, left[i]->who, left[i]->result}, i);
      if (!first && left[i]->end < left[kind->second]->end) kind->second = i;
    }
    const bool found = std::ranges::any_of(next, [&](const auto& kind) {
      Group rest = left;
      rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(kind.second));
      return explains(std::move(rest), *after(*left[kind.second], holders));
    });
    if (found) return true;
    const std::size_t undone = std::erase_if(left, [&](const Operation* operation) {
      return operation->optional() && operation->end == first_end;
    });
    return undone != 0 && explains(std::move(left), holders);
  }

 private:
  // A put of what its holder has may be needed later, once somebody has taken that away.
  static bool take_idle(Group& left, Holders holders, std::uint64_t first_end) {
    std::uint64_t first_removal = kNeverEnds;
    for (const Operation* operation : left) {
      if (!may_remove(operation->act, operation->result)) continue;
      first_removal = std::min(first_removal, operation->begin);
    }
    return std::erase_if(left, [&](const Operation* operation) {
             if (operation->optional() || operation->begin >= first_end) return false;
             if (operation->act == Act::Put && operation->end > first_removal) return false;
             return after(*operation, holders) == holders;
           }) != 0;
  }

  std::set<std::pair<Group, Holders>> seen_;  // and led nowhere
};

std::string History::describe(const Group& operations) {
  std::string text = "no order explains object " + std::to_string(operations.front()->object) + ":";
  for (const Operation* operation : operations) {
    text += "\n    [" + std::to_string(operation->begin) + ", ";
    text += operation->end == kNeverEnds ? "..." : std::to_string(operation->end);
    text += "] life " + std::to_string(operation->life) + ": ";
    text += name(operation->act);
    text += " by ";
    text += name(operation->who);
    text += ": ";
    text += name(operation->result);
  }
  return text;
}

std::optional<std::string> History::check() const {
  const std::vector<Operation> operations = within_lives();
  for (const Group& group : groups(operations)) {
    if (!Search().explains(group, 0)) return describe(group);
  }
  return std::nullopt;
}

namespace {

constexpr bool is_acknowledged(Result result) {
  return result == Result::Added || result == Result::AlreadyThere || result == Result::Stored;
}

}  // namespace

std::size_t History::acknowledged() const noexcept {
  return static_cast<std::size_t>(std::ranges::count_if(
      operations_, [](const Operation& each) { return is_acknowledged(each.result); }));
}

std::size_t History::acknowledged_and_read() const noexcept {
  std::map<std::pair<unsigned, std::size_t>, std::uint64_t> last_read;
  for (const Operation& each : operations_) {
    if (each.act != Act::Read || each.end == kNeverEnds) continue;
    std::uint64_t& last = last_read[{lasts_ ? 0 : each.life, each.object}];
    last = std::max(last, each.begin);
  }
  return static_cast<std::size_t>(std::ranges::count_if(operations_, [&](const Operation& each) {
    if (!is_acknowledged(each.result)) return false;
    const auto read = last_read.find({lasts_ ? 0 : each.life, each.object});
    return read != last_read.end() && read->second > each.end;
  }));
}

std::size_t History::survived() const noexcept {
  std::map<std::size_t, unsigned> last_life;  // in which the object was read
  for (const Operation& each : operations_) {
    if (each.result != Result::Present) continue;
    unsigned& last = last_life[each.object];
    last = std::max(last, each.life);
  }
  return static_cast<std::size_t>(std::ranges::count_if(operations_, [&](const Operation& each) {
    const auto read = last_life.find(each.object);
    return is_acknowledged(each.result) && read != last_life.end() && read->second > each.life;
  }));
}

}  // namespace ron::sim
