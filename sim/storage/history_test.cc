#include "sim/storage/history.h"

#include <algorithm>
#include <optional>
#include <set>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace ron::sim {
namespace {

using Act = History::Act;
using Result = History::Result;
using Who = History::Who;

// One object in one life.
struct OneObject {
  History history;
  TimePoint now{};

  std::size_t begin(Act act) { return history.begin(1, 0, act); }
  void end(std::size_t operation, Result result) { history.end(operation, result, now); }
  std::size_t copies() const { return history.copies(1, 0, now); }
  // Begins and ends with nothing in between.
  void did(Act act, Result result) { end(begin(act), result); }
  bool possible() const { return !history.check(); }
};

TEST(History, WhatWasAddedIsThere) {
  OneObject object;
  object.did(Act::Put, Result::Added);
  object.did(Act::Read, Result::Present);
  object.did(Act::Put, Result::AlreadyThere);
  EXPECT_TRUE(object.possible());
}

TEST(History, AnAcknowledgedObjectIsNotLost) {
  OneObject object;
  object.did(Act::Put, Result::Added);
  object.did(Act::Read, Result::Absent);
  EXPECT_FALSE(object.possible());
}

TEST(History, NothingComesFromNowhere) {
  OneObject object;
  object.did(Act::Read, Result::Present);
  EXPECT_FALSE(object.possible());
}

TEST(History, WhatNobodyReadsIsThereOnce) {
  OneObject object;
  EXPECT_EQ(object.copies(), 0U);
  for (int i = 0; i < 3; ++i) {
    object.did(Act::Put, Result::Added);
    object.did(Act::Read, Result::Present);
    object.now += std::chrono::seconds(1);
    object.did(Act::Delete, Result::Removed);
  }
  object.begin(Act::Put);
  EXPECT_EQ(object.copies(), 1U);
}

TEST(History, ARemovedCopyStaysWhileItIsRead) {
  OneObject object;
  object.did(Act::Put, Result::Added);
  const std::size_t reader = object.begin(Act::Read);
  const std::size_t late = object.begin(Act::Delete);
  EXPECT_EQ(object.copies(), 1U);  // there is nothing yet that could be the second
  object.end(late, Result::Removed);
  object.begin(Act::Put);
  EXPECT_EQ(object.copies(), 2U);
  object.begin(Act::Put);
  object.begin(Act::Read);  // of the new copy, which nobody removed
  EXPECT_EQ(object.copies(), 2U);
  object.end(reader, Result::Present);
  EXPECT_EQ(object.copies(), 2U);  // it was still reading at this very time
  object.now += std::chrono::seconds(1);
  EXPECT_EQ(object.copies(), 1U);
}

TEST(History, AReaderWithoutAnAnswerHoldsOn) {
  OneObject object;
  object.did(Act::Put, Result::Added);
  object.did(Act::Read, Result::Unknown);
  object.did(Act::Delete, Result::Unknown);
  object.did(Act::Put, Result::Added);
  object.now += std::chrono::hours(1);
  EXPECT_EQ(object.copies(), 2U);
}

TEST(History, ADeletedObjectStaysAway) {
  OneObject object;
  object.did(Act::Put, Result::Added);
  object.did(Act::Delete, Result::Removed);
  object.did(Act::Read, Result::Present);
  EXPECT_FALSE(object.possible());
}

TEST(History, OperationsAtOnceMayHappenInAnyOrder) {
  OneObject object;
  const std::size_t put = object.begin(Act::Put);
  object.did(Act::Read, Result::Absent);
  object.did(Act::Read, Result::Present);
  object.end(put, Result::Added);
  EXPECT_TRUE(object.possible());
}

TEST(History, ReadersNeverSeeTimeGoBack) {
  OneObject object;
  const std::size_t put = object.begin(Act::Put);
  object.did(Act::Read, Result::Present);
  object.did(Act::Read, Result::Absent);
  object.end(put, Result::Added);
  EXPECT_FALSE(object.possible());
}

TEST(History, OnlyOneOfTwoPutsAddsIt) {
  OneObject object;
  object.did(Act::Put, Result::Added);
  object.did(Act::Put, Result::Added);
  EXPECT_FALSE(object.possible());
}

TEST(History, WithoutAnAnswerItMayHaveHappenedLater) {
  OneObject object;
  object.begin(Act::Put);
  object.did(Act::Read, Result::Absent);
  object.did(Act::Read, Result::Present);
  object.did(Act::Put, Result::AlreadyThere);
  EXPECT_TRUE(object.possible());
}

TEST(History, WithoutAnAnswerItHappenedOnceAtMost) {
  OneObject object;
  object.begin(Act::Put);
  object.did(Act::Read, Result::Present);
  object.did(Act::Delete, Result::Removed);
  object.did(Act::Read, Result::Present);
  EXPECT_FALSE(object.possible());
}

TEST(History, RefusedMeansThatNothingHappened) {
  OneObject object;
  object.did(Act::Put, Result::Nothing);
  object.did(Act::Read, Result::Present);
  EXPECT_FALSE(object.possible());
}

TEST(History, WhatATenantHoldsIsNotForOthersToRemove) {
  History history;
  const auto did = [&history](Act act, Who who, Result result) {
    history.end(history.begin(1, 0, act, who), result, TimePoint());
  };
  did(Act::Put, Who::Nameless, Result::Added);
  did(Act::Delete, Who::Tenant, Result::NotThere);
  did(Act::Put, Who::Tenant, Result::AlreadyThere);
  did(Act::Delete, Who::Nameless, Result::Removed);
  did(Act::Read, Who::Operator, Result::Present);
  EXPECT_FALSE(history.check());
  did(Act::Delete, Who::Operator, Result::Removed);
  did(Act::Delete, Who::Tenant, Result::NotThere);
  EXPECT_FALSE(history.check());
  did(Act::Read, Who::Operator, Result::Present);
  EXPECT_TRUE(history.check());
}

TEST(History, ANewLifeBeginsEmpty) {
  History history;
  history.end(history.begin(1, 0, Act::Put), Result::Added, TimePoint());
  history.end(history.begin(2, 0, Act::Read), Result::Absent, TimePoint());
  EXPECT_FALSE(history.check());
  history.end(history.begin(2, 0, Act::Read), Result::Present, TimePoint());
  EXPECT_TRUE(history.check());
}

TEST(History, WhatLastsIsThereInTheNextLife) {
  History history(true);
  history.end(history.begin(1, 0, Act::Put), Result::Added, TimePoint());
  history.life_ended(1);
  history.end(history.begin(2, 0, Act::Read), Result::Present, TimePoint());
  EXPECT_FALSE(history.check());
  EXPECT_EQ(history.survived(), 1U);
  history.end(history.begin(2, 0, Act::Read), Result::Absent, TimePoint());
  EXPECT_TRUE(history.check());
}

TEST(History, NothingOfALifeHappensAfterItsEnd) {
  History history(true);
  history.begin(1, 0, Act::Put);  // no answer
  history.life_ended(1);
  history.end(history.begin(2, 0, Act::Read), Result::Absent, TimePoint());
  EXPECT_FALSE(history.check());
  history.end(history.begin(2, 0, Act::Read), Result::Present, TimePoint());
  EXPECT_TRUE(history.check());
}

// Seen from the next life it did happen: then so did the removal that nobody answered.
TEST(History, TheNextLifeShowsWhatTheLastOneDid) {
  History history(true);
  history.begin(1, 0, Act::Put);  // no answer
  history.life_ended(1);
  const std::size_t removal = history.begin(2, 0, Act::Delete);
  const std::size_t absent = history.begin(2, 0, Act::Read);
  const std::size_t present = history.begin(2, 0, Act::Read);
  history.end(absent, Result::Absent, TimePoint());
  history.end(present, Result::Present, TimePoint());
  EXPECT_FALSE(history.check());
  history.end(removal, Result::NotThere, TimePoint());
  EXPECT_TRUE(history.check());
}

// It held the object already, or again.
TEST(History, AStoreMayFollowTheRemovalItMet) {
  OneObject object;
  object.did(Act::Put, Result::Added);
  const std::size_t store = object.begin(Act::Put);
  object.did(Act::Delete, Result::Removed);
  object.end(store, Result::Stored);
  object.did(Act::Read, Result::Present);
  EXPECT_TRUE(object.possible());
  object.did(Act::Delete, Result::Removed);
  object.did(Act::Read, Result::Present);
  EXPECT_FALSE(object.possible());
}

TEST(History, CountsWhatWasReadBack) {
  OneObject object;
  object.did(Act::Put, Result::Added);
  EXPECT_EQ(object.history.acknowledged(), 1U);
  EXPECT_EQ(object.history.acknowledged_and_read(), 0U);
  object.did(Act::Read, Result::Present);
  EXPECT_EQ(object.history.acknowledged_and_read(), 1U);
}

// A history small enough to try every order.
struct Small {
  struct Operation {
    unsigned life;
    Act act;
    Who who;
    Result result = Result::Unknown;
    std::uint64_t begin = 0;
    std::uint64_t end = UINT64_MAX;
  };
  std::vector<Operation> operations;
  std::uint64_t first_life_ends = UINT64_MAX;  // never: there is one
};

Result pick_result(Act act, unsigned number) {
  constexpr Result kPut[] = {Result::Unknown, Result::Stored, Result::Added, Result::AlreadyThere};
  constexpr Result kDelete[] = {Result::Unknown, Result::Nothing, Result::Removed,
                                Result::NotThere};
  constexpr Result kRead[] = {Result::Unknown, Result::Nothing, Result::Present, Result::Absent};
  if (act == Act::Put) return kPut[number % 4];
  return act == Act::Delete ? kDelete[number % 4] : kRead[number % 4];
}

// Each number begins an operation or ends one under way, or now and then the first life.
Small make_small(const std::vector<unsigned>& numbers) {
  constexpr std::size_t kMost = 7;
  Small small;
  std::vector<std::size_t> open;
  std::uint64_t moment = 0;
  for (const unsigned number : numbers) {
    if (number % 13 == 12 && small.first_life_ends == UINT64_MAX) {
      small.first_life_ends = moment++;
      open.clear();
      continue;
    }
    const bool begins = open.empty() || (number % 2 == 0 && small.operations.size() < kMost);
    if (begins && small.operations.size() == kMost) break;
    if (begins) {
      open.push_back(small.operations.size());
      small.operations.push_back({.life = small.first_life_ends == UINT64_MAX ? 1U : 2U,
                                  .act = static_cast<Act>(number / 2 % 3),
                                  .who = static_cast<Who>(number / 6 % 3),
                                  .begin = moment++});
      continue;
    }
    const auto which = open.begin() + static_cast<std::ptrdiff_t>(number / 2 % open.size());
    Small::Operation& ended = small.operations[*which];
    ended.result = pick_result(ended.act, number / 16);
    if (ended.result != Result::Unknown) ended.end = moment++;
    open.erase(which);
  }
  return small;
}

using Holders = std::set<Who>;  // without the operator, who stores for the nameless

// What the operation makes of the state; nothing when it cannot have happened then.
std::optional<Holders> apply(const Small::Operation& operation, const Holders& before) {
  const Who own = operation.who == Who::Operator ? Who::Nameless : operation.who;
  const bool outright = operation.act == Act::Delete && operation.who == Who::Operator;
  Holders with = before;
  with.insert(own);
  Holders without = outright ? Holders() : before;
  without.erase(own);
  const auto if_so = [](bool possible, const Holders& then) {
    return possible ? std::optional(then) : std::nullopt;
  };
  switch (operation.result) {
    case Result::Nothing:
      return before;
    case Result::Added:
      return if_so(before.empty(), with);
    case Result::AlreadyThere:
      return if_so(!before.empty(), with);
    case Result::Stored:
      return with;
    case Result::Present:
      return if_so(!before.empty(), before);
    case Result::Absent:
      return if_so(before.empty(), before);
    case Result::Removed:
      return if_so(without != before, without);
    case Result::NotThere:
      return if_so(without == before, before);
    case Result::Unknown:
      break;
  }
  if (operation.act == Act::Read) return before;
  return operation.act == Act::Put ? with : without;
}

// Tries every order, with and without each operation that has no answer.
bool try_everything(const std::vector<Small::Operation>& left, const Holders& holders) {
  if (left.empty()) return true;
  const std::uint64_t first_end = std::ranges::min(left, {}, &Small::Operation::end).end;
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (left[i].begin > first_end) continue;
    std::vector<Small::Operation> rest = left;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
    const std::optional<Holders> next = apply(left[i], holders);
    if (next && try_everything(rest, *next)) return true;
    const bool optional = left[i].result == Result::Unknown;
    if (optional && try_everything(rest, holders)) return true;
  }
  return false;
}

// The same operations, told in the order they happened.
History told(const Small& small) {
  History history(true);
  std::vector<std::pair<std::uint64_t, std::size_t>> ends;
  std::vector<std::size_t> handles;
  for (std::size_t i = 0; i < small.operations.size(); ++i) {
    if (small.operations[i].end != UINT64_MAX) ends.emplace_back(small.operations[i].end, i);
  }
  if (small.first_life_ends != UINT64_MAX) ends.emplace_back(small.first_life_ends, SIZE_MAX);
  ends.emplace_back(UINT64_MAX, SIZE_MAX);
  std::ranges::sort(ends);
  for (const auto& [end, which] : ends) {
    while (handles.size() < small.operations.size() &&
           small.operations[handles.size()].begin < end) {
      const Small::Operation& next = small.operations[handles.size()];
      handles.push_back(history.begin(next.life, 0, next.act, next.who));
    }
    if (which != SIZE_MAX) history.end(handles[which], small.operations[which].result, TimePoint());
    if (which == SIZE_MAX && end != UINT64_MAX) history.life_ended(1);
  }
  return history;
}

// Each with the last moment at which it can have happened.
std::vector<Small::Operation> bounded(const Small& small) {
  std::vector<Small::Operation> operations = small.operations;
  for (Small::Operation& each : operations) {
    if (each.life == 1) each.end = std::min(each.end, small.first_life_ends);
  }
  return operations;
}

TEST(History, AgreesWithTryingEveryOrder) {
  std::size_t possible = 0;
  std::size_t impossible = 0;
  EXPECT_TRUE(rc::check("exact", [&](const std::vector<unsigned>& numbers) {
    const Small small = make_small(numbers);
    const bool expected = try_everything(bounded(small), {});
    ++(expected ? possible : impossible);
    RC_ASSERT(!told(small).check().has_value() == expected);
  }));
  EXPECT_GT(possible, 10U);
  EXPECT_GT(impossible, 10U);
}

}  // namespace
}  // namespace ron::sim
