#include "platform/timer_heap.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace ron::platform {
namespace {

using namespace std::chrono_literals;

constexpr TimePoint at(int ns) { return TimePoint(std::chrono::nanoseconds(ns)); }

// Writes its name down when it fires.
struct Marker : Timer {
  Marker(std::vector<int>& where, int called) : Timer(&Marker::fired), log(where), name(called) {}
  static void fired(Timer& timer) noexcept {
    auto& self = static_cast<Marker&>(timer);
    self.log.push_back(self.name);
  }
  std::vector<int>& log;
  int name;
};

TEST(TimerHeap, FiresInOrderOfTime) {
  std::vector<int> log;
  TimerHeap heap;
  Marker late(log, 3);
  Marker early(log, 1);
  Marker middle(log, 2);
  heap.arm(late, at(30));
  heap.arm(early, at(10));
  heap.arm(middle, at(20));
  EXPECT_EQ(heap.next_due(), at(10));
  EXPECT_EQ(heap.fire_due(at(20)), 2U);
  EXPECT_EQ(log, (std::vector{1, 2}));
  EXPECT_TRUE(late.armed());
  EXPECT_FALSE(early.armed());
}

TEST(TimerHeap, EqualTimesFireInArmingOrder) {
  std::vector<int> log;
  TimerHeap heap;
  Marker a(log, 1);
  Marker b(log, 2);
  heap.arm(a, at(5));
  heap.arm(b, at(5));
  heap.arm(a, at(5));
  heap.fire_due(at(5));
  EXPECT_EQ(log, (std::vector{2, 1}));
}

TEST(TimerHeap, AnEmptyHeapIsNeverDue) {
  TimerHeap heap;
  EXPECT_TRUE(heap.empty());
  EXPECT_EQ(heap.next_due(), kNever);
  EXPECT_FALSE(heap.fire_next(at(1'000'000)));
}

struct Rearming : Timer {
  explicit Rearming(TimerHeap& in) : Timer(&Rearming::fired), heap(in) {}
  static void fired(Timer& timer) noexcept {
    auto& self = static_cast<Rearming&>(timer);
    ++self.count;
    self.heap.arm(self, at(0));
  }
  TimerHeap& heap;
  int count = 0;
};

TEST(TimerHeap, ATimerThatRearmsDoesNotHoldTheLoop) {
  TimerHeap heap;
  Rearming timer(heap);
  heap.arm(timer, at(0));
  EXPECT_EQ(heap.fire_due(at(10)), 1U);
  EXPECT_EQ(timer.count, 1);
  EXPECT_TRUE(timer.armed());
  heap.disarm(timer);
}

// Against a multimap, in which equal keys keep their order of insertion.
struct Model {
  std::multimap<TimePoint, int> due;

  void disarm(int name) {
    std::erase_if(due, [name](const auto& entry) { return entry.second == name; });
  }
  void arm(int name, TimePoint when) {
    disarm(name);
    due.emplace(when, name);
  }
  std::vector<int> fire(TimePoint now) {
    std::vector<int> fired;
    while (!due.empty() && due.begin()->first <= now) {
      fired.push_back(due.begin()->second);
      due.erase(due.begin());
    }
    return fired;
  }
};

TEST(TimerHeap, BehavesLikeAMultimap) {
  EXPECT_TRUE(rc::check([] {
    constexpr int kTimers = 12;
    std::vector<int> log;
    std::vector<std::unique_ptr<Marker>> timers;
    for (int i = 0; i < kTimers; ++i) timers.push_back(std::make_unique<Marker>(log, i));
    TimerHeap heap;
    Model model;
    int now = 0;
    const auto steps = *rc::gen::container<std::vector<std::pair<int, int>>>(
        rc::gen::pair(rc::gen::inRange(0, kTimers * 3), rc::gen::inRange(0, 50)));
    for (const auto& [what, amount] : steps) {
      const auto which = static_cast<std::size_t>(what % kTimers);
      if (what < kTimers) {
        heap.arm(*timers[which], at(now + amount));
        model.arm(static_cast<int>(which), at(now + amount));
      } else if (what < 2 * kTimers) {
        heap.disarm(*timers[which]);
        model.disarm(static_cast<int>(which));
      } else {
        now += amount / 4;
        log.clear();
        heap.fire_due(at(now));
        RC_ASSERT(log == model.fire(at(now)));
      }
      RC_ASSERT(heap.size() == model.due.size());
      RC_ASSERT(heap.next_due() == (model.due.empty() ? kNever : model.due.begin()->first));
    }
    for (const auto& timer : timers) heap.disarm(*timer);
  }));
}

}  // namespace
}  // namespace ron::platform
