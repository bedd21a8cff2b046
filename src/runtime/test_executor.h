// Test harness: cores with virtual time, run by hand. Jobs run first posted, first run; with a seed
// the next one is picked at random instead, and the same seed picks the same.
//
//   TestCores cores;                              // one core; TestCores cores(2) for two
//   Running recv(cores[0], queue.recv());         // starts in a job of core 0
//   cores.run();                                  // until nothing is ready
//   cores.advance(std::chrono::seconds(1));       // timers fire in order on the way
//   EXPECT_TRUE(recv.done());
//
// Single-threaded: everything happens in the calls of run() and advance().
#pragma once

#include <cassert>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "platform/executor.h"
#include "platform/random.h"
#include "platform/task.h"
#include "platform/timer_heap.h"
#include "runtime/deadline.h"
#include "runtime/root_task.h"

namespace ron::runtime {

class TestCore final : public platform::Executor {
 public:
  TestCore(const platform::TimePoint& now, platform::FastRandom* pick) noexcept
      : now_(now), pick_(pick) {}

  void post(platform::Job& job) noexcept override {
    if (place(job) != Place::Nowhere) return;
    set_place(job, Place::Local);
    ready_.push_back(job);
    ++count_;
  }
  bool unpost(platform::Job& job) noexcept override {
    if (place(job) == Place::Nowhere) return false;
    take(job);
    return true;
  }
  void arm(platform::Timer& timer, platform::TimePoint due) noexcept override {
    timers_.arm(timer, due);
  }
  void disarm(platform::Timer& timer) noexcept override { timers_.disarm(timer); }
  [[nodiscard]] platform::TimePoint now() const noexcept override { return now_; }

  [[nodiscard]] bool ready() const noexcept { return !ready_.empty(); }
  [[nodiscard]] platform::TimePoint next_due() const noexcept { return timers_.next_due(); }
  [[nodiscard]] std::size_t timers() const noexcept { return timers_.size(); }
  [[nodiscard]] Deadline in(base::Duration after) const noexcept { return Deadline(now_ + after); }

  bool run_one() noexcept {
    if (ready_.empty()) return false;
    platform::Job* next = ready_.front();
    std::uint64_t skip = pick_ != nullptr ? pick_->below(count_) : 0;
    for (; skip > 0; --skip) next = platform::JobList::next(*next);
    platform::Job& job = *next;
    take(job);
    const Entered entered(*this);
    job.run();
    return true;
  }
  bool fire_due() noexcept {
    const Entered entered(*this);
    return timers_.fire_due(now_) > 0;
  }
  // Calls `action` as if from a job of this core.
  template <class Action>
  decltype(auto) enter(Action action) {
    const Entered entered(*this);
    return action();
  }

 private:
  void take(platform::Job& job) noexcept {
    ready_.remove(job);
    set_place(job, Place::Nowhere);
    --count_;
  }

  const platform::TimePoint& now_;
  platform::FastRandom* pick_;
  platform::JobList ready_;
  std::size_t count_ = 0;  // jobs in ready_
  platform::TimerHeap timers_;
};

class TestCores {
 public:
  explicit TestCores(std::size_t count = 1) { add(count, nullptr); }
  TestCores(std::size_t count, std::uint64_t seed) : random_(seed) { add(count, &random_); }
  TestCores(const TestCores&) = delete;
  TestCores& operator=(const TestCores&) = delete;

  TestCore& operator[](std::size_t index) { return *cores_[index]; }
  [[nodiscard]] platform::TimePoint now() const noexcept { return now_; }

  // Runs jobs, the cores taking turns, until none is ready. Time stands still, but timers that are
  // due fire.
  void run() {
    for (bool busy = true; busy;) {
      busy = false;
      for (const auto& core : cores_) {
        busy = core->fire_due() || busy;  // what fires may make another core ready
        busy = core->run_one() || busy;
      }
    }
  }
  // Lets time pass, stopping at every timer on the way.
  void advance(base::Duration duration) {
    const platform::TimePoint until = now_ + duration;
    for (run(); next_due() <= until; run()) now_ = std::max(now_, next_due());
    now_ = until;
    run();
  }

 private:
  [[nodiscard]] platform::TimePoint next_due() const {
    platform::TimePoint soonest = platform::kNever;
    for (const auto& core : cores_) soonest = std::min(soonest, core->next_due());
    return soonest;
  }

  void add(std::size_t count, platform::FastRandom* pick) {
    for (std::size_t i = 0; i < count; ++i) {
      cores_.push_back(std::make_unique<TestCore>(now_, pick));
    }
  }

  platform::TimePoint now_{std::chrono::hours(1)};
  platform::FastRandom random_{0};
  std::vector<std::unique_ptr<TestCore>> cores_;
};

// A task run on a core for a test, and its result. Destroying it aborts the task where it waits.
template <class T>
class Running {
 public:
  using Value = std::conditional_t<std::is_void_v<T>, std::monostate, T>;

  Running(TestCore& core, platform::Task<T> task) : core_(core) {
    core.enter([&] { root_.emplace(*this, keep(std::move(task), this)); });
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  ~Running() { abort(); }

  [[nodiscard]] bool done() const noexcept { return done_; }
  [[nodiscard]] bool failed() const noexcept { return failed_; }
  // Only when done.
  Value& value() {
    assert(value_.has_value());
    return *value_;
  }
  void abort() {
    core_.enter([&] { root_.reset(); });
  }

 private:
  struct Root : RootTask {
    Root(Running& running, platform::Task<void> task)
        : RootTask(std::move(task), &Root::ended), owner(running) {}
    static void ended(RootTask& root, std::exception_ptr failure) noexcept {
      Running& running = static_cast<Root&>(root).owner;
      running.done_ = true;
      running.failed_ = failure != nullptr;
    }
    Running& owner;
  };

  static platform::Task<void> keep(platform::Task<T> task, Running* self) {
    if constexpr (std::is_void_v<T>) {
      co_await task;
      self->value_.emplace();
    } else {
      T value = co_await task;
      self->value_.emplace(std::move(value));
    }
  }

  TestCore& core_;
  std::optional<Value> value_;
  bool done_ = false;
  bool failed_ = false;
  std::optional<Root> root_;
};

// A seeded source: the same numbers in every run.
class TestRandom final : public platform::Random {
 public:
  explicit TestRandom(std::uint64_t seed = 1) noexcept : random_(seed) {}
  void fill(base::MutableBytes out) noexcept override {
    for (auto& byte : out) byte = static_cast<std::byte>(random_.next());
  }

 private:
  platform::FastRandom random_;
};

}  // namespace ron::runtime
