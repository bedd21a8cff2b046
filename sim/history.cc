#include "sim/history.h"

#include <algorithm>
#include <map>
#include <set>
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
  return result == Result::Added || (act == Act::Put && result == Result::Unknown);
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

std::vector<History::Group> History::groups() const {
  std::map<std::pair<unsigned, std::size_t>, Group> found;
  for (const Operation& operation : operations_) {
    if (operation.result == Result::Nothing) continue;
    if (operation.act == Act::Read && operation.result == Result::Unknown) continue;
    found[{operation.life, operation.object}].push_back(&operation);
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
// is are taken as soon as they may: that never rules anything out. When none is left the state must
// change. Of two operations that do the same for the same holder and may both be next, whichever
// must end sooner can stand where the other stood in any order that works, and one without an
// answer waits for ever; so one of each kind is tried, and no situation twice.
class History::Search {
 public:
  bool explains(Group left, Holders holders) {
    std::uint64_t first_end = kNeverEnds;
    const auto may_be_next = [&first_end](const Operation* operation) {
      return operation->begin < first_end;
    };
    for (bool taken = true; taken;) {
      first_end = kNeverEnds;
      for (const Operation* operation : left) first_end = std::min(first_end, operation->end);
      if (first_end == kNeverEnds) return true;
      taken = std::erase_if(left, [&](const Operation* operation) {
                const bool answered = operation->result != Result::Unknown;
                return answered && may_be_next(operation) && after(*operation, holders) == holders;
              }) != 0;
    }
    if (!seen_.emplace(left, holders).second) return false;
    std::map<std::pair<Act, Who>, std::size_t> next;  // the one of its kind that must end first
    for (std::size_t i = 0; i < left.size(); ++i) {
      const auto then = after(*left[i], holders);
      if (!may_be_next(left[i]) || !then || *then == holders) continue;
      const auto [kind, first] = next.try_emplace({left[i]->act, left[i]->who}, i);
      if (!first && left[i]->end < left[kind->second]->end) kind->second = i;
    }
    return std::ranges::any_of(next, [&](const auto& kind) {
      Group rest = left;
      rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(kind.second));
      return explains(std::move(rest), *after(*left[kind.second], holders));
    });
  }

 private:
  std::set<std::pair<Group, Holders>> seen_;  // and led nowhere
};

std::string History::describe(const Group& operations) {
  std::string text = "no order explains life " + std::to_string(operations.front()->life) +
                     " of object " + std::to_string(operations.front()->object) + ":";
  for (const Operation* operation : operations) {
    text += "\n    [" + std::to_string(operation->begin) + ", ";
    text += operation->end == kNeverEnds ? "..." : std::to_string(operation->end);
    text += "] ";
    text += name(operation->act);
    text += " by ";
    text += name(operation->who);
    text += ": ";
    text += name(operation->result);
  }
  return text;
}

std::optional<std::string> History::check() const {
  for (const Group& group : groups()) {
    if (!Search().explains(group, 0)) return describe(group);
  }
  return std::nullopt;
}

std::size_t History::acknowledged() const noexcept {
  return static_cast<std::size_t>(std::ranges::count_if(operations_, [](const Operation& each) {
    return each.result == Result::Added || each.result == Result::AlreadyThere;
  }));
}

std::size_t History::acknowledged_and_read() const noexcept {
  std::map<std::pair<unsigned, std::size_t>, std::uint64_t> last_read;
  for (const Operation& each : operations_) {
    if (each.act != Act::Read || each.end == kNeverEnds) continue;
    std::uint64_t& last = last_read[{each.life, each.object}];
    last = std::max(last, each.begin);
  }
  return static_cast<std::size_t>(std::ranges::count_if(operations_, [&](const Operation& each) {
    if (each.result != Result::Added && each.result != Result::AlreadyThere) return false;
    const auto read = last_read.find({each.life, each.object});
    return read != last_read.end() && read->second > each.end;
  }));
}

}  // namespace ron::sim
