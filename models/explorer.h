// The explorer: runs a few logical threads under every possible schedule of their scheduling
// points.
//
//   const Report report = explore([](Model& model) {
//     auto state = std::make_shared<State>();
//     model.thread("producer", [state] { ... });
//     model.thread("receiver", [state] { ... });
//     model.finally([state] { check(state->received == 1, "delivered once"); });
//   });
//
// The setup runs once per schedule, on fresh state. Schedules are enumerated depth first by
// deterministic replay: a schedule is the list of choices taken, and the next one differs in the
// last choice that still has an untried option. Every interleaving is run; the only step saved is
// that a thread which is unparked takes its next lock at once (see Explorer::lock).
//
// Scheduling points are Mutex::lock, Parker::park and point(). Between two points a thread runs
// alone; it may touch what a mutex guards only under that mutex. What a thread does before its
// first point is run once at the start, so it must concern the thread alone.
//
// Found: a failed check() or an escaped exception, deadlock (nobody can go on and somebody has not
// finished: this is also how a lost wake-up or a lost shutdown shows), a waiter that dies while
// linked or queued, a wake-up outside the lock, a schedule longer than the bound, and a model that
// is not deterministic. The first failure ends the exploration; its threads stay frozen where they
// were and are never unwound.
//
// One exploration at a time per process; everything runs on the caller's OS thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ron::models {

struct Bounds {
  std::size_t steps = 400;              // per schedule; more counts as a livelock
  std::uint64_t schedules = 5'000'000;  // per exploration; more leaves it incomplete
};

struct Failure {
  std::string what;
  std::vector<int> schedule;  // for replay(): the option taken at each choice that had several
  std::string trace;          // one line per step
};

struct Report {
  std::uint64_t schedules = 0;
  bool complete = false;  // every schedule was run
  std::optional<Failure> failure;
};

// What one setup declares: two to four threads, and what must hold when all have finished.
class Model {
 public:
  void thread(std::string name, std::function<void()> body) {
    threads_.push_back({std::move(name), std::move(body)});
  }
  // Runs last and alone.
  void finally(std::function<void()> body) { finally_ = std::move(body); }

 private:
  friend class Explorer;
  struct Body {
    std::string name;
    std::function<void()> run;
  };
  std::vector<Body> threads_;
  std::function<void()> finally_;
};

using Scenario = std::function<void(Model&)>;

Report explore(const Scenario& setup, Bounds bounds = {});
// Runs the one schedule of a Failure again.
Report replay(const Scenario& setup, const std::vector<int>& schedule, Bounds bounds = {});

// For the code of a model, on its logical threads:
// an extra scheduling point;
void point();
// any of 0..options-1: the explorer tries them all;
int choose(int options);
// a property. A false one ends the schedule there and fails the exploration.
void check(bool holds, std::string_view property);

// Mutex: lock is a scheduling point; a thread that finds it held cannot run until it is free.
class Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void lock();
  void unlock();

 private:
  friend class Explorer;
  bool held_ = false;
};

enum class Patience : std::uint8_t {
  Forever,
  MayGiveUp,  // a deadline or an abort may end the wait at any moment, even after a wake-up
};

class WakeUp;

// Parker: where a logical thread waits for any of its waiters; the model of platform::Parker.
// A wake-up stays queued until the thread parks, so one between poll and park is not lost.
class Parker {
 public:
  Parker() = default;
  Parker(const Parker&) = delete;
  Parker& operator=(const Parker&) = delete;

  // True: one wake-up was consumed, any of those queued. False: gave up; what is queued stays so.
  bool park(Patience patience = Patience::Forever);

 private:
  friend class WakeUp;
  friend class Explorer;
  // The wake-ups queued, oldest first: a list through them, because a frozen thread is never
  // unwound and must not own memory.
  WakeUp* first_ = nullptr;
};

// WakeUp: the job a woken waiter posts to its owner's executor.
class WakeUp {
 public:
  explicit WakeUp(Parker& parker) noexcept : parker_(&parker) {}
  WakeUp(const WakeUp&) = delete;
  WakeUp& operator=(const WakeUp&) = delete;
  ~WakeUp() { check(!queued(), "a waiter dies with no wake-up queued"); }

  void wake();
  bool take_back();
  [[nodiscard]] bool queued() const noexcept { return queued_; }

 private:
  friend class Parker;
  friend class Explorer;
  Parker* parker_;
  WakeUp* next_queued_ = nullptr;
  bool queued_ = false;
};

// WaiterOf: the model of platform::Waiter, with its contract checked. Seeded bugs derive from it.
template <class Self, class Flag = bool>
class WaiterOf : public WakeUp {
 public:
  using WakeUp::WakeUp;
  ~WaiterOf() { check(!linked, "a waiter dies unlinked"); }

  Self* previous = nullptr;
  Self* next = nullptr;
  Flag linked = false;
};

class Waiter : public WaiterOf<Waiter> {
 public:
  using WaiterOf::WaiterOf;
};

// The policy for the cores of src/runtime.
struct ModelSync {
  using Mutex = models::Mutex;
  using Waiter = models::Waiter;
};

// For seeded bugs: a section that claims the lock without keeping anybody out.
void enter_unguarded();
void leave_unguarded();

}  // namespace ron::models
