#include "sim/history.h"

#include <algorithm>
#include <map>
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

// Holds in this state and leaves it.
constexpr bool fits(Result result, bool present) {
  if (present) return result == Result::AlreadyThere || result == Result::Present;
  return result == Result::NotThere || result == Result::Absent;
}

// Turns this state into the other one.
constexpr bool turns(Act act, Result result, bool present) {
  if (result == Result::Unknown) return act == (present ? Act::Delete : Act::Put);
  return result == (present ? Result::Removed : Result::Added);
}

}  // namespace

std::size_t History::begin(unsigned life, std::size_t object, Act act) {
  operations_.push_back({life, object, act, Result::Unknown, moment_++, kNeverEnds, kNever});
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
    if (turns(each.act, each.result, false)) ++added;
    if (!turns(each.act, each.result, true)) continue;
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

// Takes the operations in an order that explains them, one by one. Those that leave the state as it
// is are taken as soon as they may: that never rules anything out. When none is left the state must
// turn, and the operation that turns it can be chosen without looking ahead: of two that may both
// be next, whichever must end sooner can stand where the other stood in any order that works, and
// one without an answer waits for ever. So there is nothing to search.
bool History::explains(Group operations) {
  bool present = false;
  for (;;) {
    std::uint64_t first_end = kNeverEnds;
    for (const Operation* operation : operations) first_end = std::min(first_end, operation->end);
    if (first_end == kNeverEnds) return true;
    const auto may_be_next = [first_end](const Operation* operation) {
      return operation->begin < first_end;
    };
    const std::size_t before = operations.size();
    std::erase_if(operations, [&](const Operation* operation) {
      return may_be_next(operation) && fits(operation->result, present);
    });
    if (operations.size() != before) continue;
    auto turner = operations.end();
    for (auto each = operations.begin(); each != operations.end(); ++each) {
      if (!may_be_next(*each) || !turns((*each)->act, (*each)->result, present)) continue;
      if (turner == operations.end() || (*each)->end < (*turner)->end) turner = each;
    }
    if (turner == operations.end()) return false;
    operations.erase(turner);
    present = !present;
  }
}

std::string History::describe(const Group& operations) {
  std::string text = "no order explains life " + std::to_string(operations.front()->life) +
                     " of object " + std::to_string(operations.front()->object) + ":";
  for (const Operation* operation : operations) {
    text += "\n    [" + std::to_string(operation->begin) + ", ";
    text += operation->end == kNeverEnds ? "..." : std::to_string(operation->end);
    text += "] ";
    text += name(operation->act);
    text += ": ";
    text += name(operation->result);
  }
  return text;
}

std::optional<std::string> History::check() const {
  for (const Group& group : groups()) {
    if (!explains(group)) return describe(group);
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
