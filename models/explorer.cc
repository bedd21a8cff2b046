#include "explorer.h"

#include <algorithm>
#include <cassert>
#include <exception>
#include <memory>
#include <utility>

#include "fiber.h"

namespace ron::models {
namespace {

// Fibers of finished schedules, ready for the next one.
std::vector<std::unique_ptr<Fiber>>& idle_fibers() {
  static std::vector<std::unique_ptr<Fiber>> fibers;
  return fibers;
}

// A failed schedule's threads may be frozen inside noexcept functions and cannot be unwound. They
// and all they refer to are kept for ever, so that leak checkers see them as reachable and nobody's
// destructor looks at a thread that stands still.
struct Frozen {
  Model model;
  std::vector<std::unique_ptr<Fiber>> fibers;
};
void keep_frozen(Frozen frozen) {
  static auto& kept = *new std::vector<Frozen>;
  kept.push_back(std::move(frozen));
}

}  // namespace

class Explorer {
 public:
  explicit Explorer(Bounds bounds) : bounds_(bounds) {
    assert(current == nullptr && "one exploration at a time");
    current = this;
  }
  ~Explorer() { current = nullptr; }
  Explorer(const Explorer&) = delete;
  Explorer& operator=(const Explorer&) = delete;

  Report explore(const Scenario& setup);
  Report replay(const Scenario& setup, const std::vector<int>& schedule);

  // For the running thread; nullptr while a setup or a destructor runs outside any.
  static inline Explorer* current = nullptr;
  [[nodiscard]] bool on_thread() const noexcept { return running_ != nullptr; }
  void pause(Mutex* mutex, Parker* parker, Patience patience);
  void lock(Mutex& mutex);
  WakeUp* unpark(Parker& parker, Patience patience);
  int decide(int options);
  void fail(std::string what);
  void enter_section() { running_->sections += 1; }
  void leave_section() { running_->sections -= 1; }
  [[nodiscard]] bool in_section() const noexcept { return running_->sections > 0; }

 private:
  // A logical thread, and what it needs before it can take its next step.
  struct Thread {
    std::string name;
    std::unique_ptr<Fiber> fiber = nullptr;
    Mutex* mutex = nullptr;    // to be free
    Parker* parker = nullptr;  // to have a wake-up queued
    Patience patience = Patience::Forever;
    int sections = 0;       // locks held
    bool unparked = false;  // in this step

    [[nodiscard]] bool finished() const noexcept { return fiber->idle(); }
    [[nodiscard]] bool can_run() const noexcept {
      if (finished()) return false;
      if (mutex != nullptr) return !mutex->held_;
      if (parker != nullptr) return patience == Patience::MayGiveUp || parker->first_ != nullptr;
      return true;
    }
  };
  struct Choice {
    int taken;
    int options;
  };
  struct Step {
    const Thread* thread;
    const char* what;
  };

  void run(const Scenario& setup);
  void run_threads();
  void start(Thread& thread, std::function<void()> body);
  void step(Thread& thread);
  bool next_path();
  [[nodiscard]] std::string describe_stuck() const;
  [[nodiscard]] std::string describe_trace() const;

  const Bounds bounds_;
  std::vector<Choice> path_;
  std::size_t depth_ = 0;  // choices of path_ taken so far in this schedule
  std::vector<Thread> threads_;
  Thread* running_ = nullptr;
  std::vector<Step> steps_;
  std::optional<Failure> failure_;
};

Report Explorer::explore(const Scenario& setup) {
  Report report;
  while (report.schedules < bounds_.schedules) {
    run(setup);
    ++report.schedules;
    if (failure_) break;
    if (!next_path()) {
      report.complete = true;
      break;
    }
  }
  report.failure = std::move(failure_);
  return report;
}

Report Explorer::replay(const Scenario& setup, const std::vector<int>& schedule) {
  for (const int taken : schedule) path_.push_back({taken, 0});
  run(setup);
  return {.schedules = 1, .complete = false, .failure = std::move(failure_)};
}

// The last choice that has an untried option takes it; what followed it is forgotten.
bool Explorer::next_path() {
  while (!path_.empty() && path_.back().taken + 1 == path_.back().options) path_.pop_back();
  if (path_.empty()) return false;
  ++path_.back().taken;
  return true;
}

int Explorer::decide(int options) {
  assert(options > 0);
  if (options == 1) return 0;
  if (depth_ == path_.size()) path_.push_back({0, options});
  Choice& choice = path_[depth_++];
  if (choice.options == 0) choice.options = options;  // a replayed schedule holds only what it took
  if (choice.options != options || choice.taken >= options) {
    fail("the model is not deterministic: a replayed choice has other options");
    return 0;
  }
  return choice.taken;
}

void Explorer::run(const Scenario& setup) {
  depth_ = 0;
  steps_.clear();
  Model model;
  setup(model);
  threads_.clear();
  threads_.reserve(model.threads_.size() + 1);  // threads are pointed to
  for (Model::Body& body : model.threads_) {
    threads_.push_back({.name = body.name});
    start(threads_.back(), body.run);
  }
  if (!failure_) run_threads();
  if (!failure_ && model.finally_) {
    threads_.push_back({.name = "finally"});
    start(threads_.back(), model.finally_);
    if (!failure_) run_threads();
  }

  std::vector<std::unique_ptr<Fiber>> frozen;
  for (Thread& thread : threads_) {
    auto& place = thread.finished() ? idle_fibers() : frozen;
    place.push_back(std::move(thread.fiber));
  }
  if (!frozen.empty()) keep_frozen({std::move(model), std::move(frozen)});
}

// Runs the thread up to its first point.
void Explorer::start(Thread& thread, std::function<void()> body) {
  if (idle_fibers().empty()) idle_fibers().push_back(std::make_unique<Fiber>());
  thread.fiber = std::move(idle_fibers().back());
  idle_fibers().pop_back();
  thread.fiber->start([this, body = std::move(body)] {
    std::string escaped;  // failing freezes the thread, which must not happen inside a handler
    try {
      body();
    } catch (const std::exception& error) {
      escaped = error.what();
    }
    if (!escaped.empty()) fail("an exception escaped: " + escaped);
  });
  if (!failure_) step(thread);
}

void Explorer::run_threads() {
  std::vector<Thread*> ready;
  for (;;) {
    ready.clear();
    for (Thread& thread : threads_) {
      if (thread.can_run()) ready.push_back(&thread);
    }
    if (ready.empty()) {
      const bool done = std::ranges::all_of(threads_, &Thread::finished);
      if (!done) fail("deadlock: " + describe_stuck());
      return;
    }
    if (steps_.size() >= bounds_.steps) return fail("the schedule exceeds the step bound");
    Thread& thread = *ready[static_cast<std::size_t>(decide(static_cast<int>(ready.size())))];
    if (!failure_) step(thread);
    if (failure_) return;
  }
}

void Explorer::step(Thread& thread) {
  steps_.push_back({&thread, thread.mutex != nullptr ? "locks" : "goes on"});
  running_ = &thread;
  thread.fiber->resume();
  running_ = nullptr;
}

// The running thread stops here until it is chosen again.
void Explorer::pause(Mutex* mutex, Parker* parker, Patience patience) {
  Thread& thread = *running_;
  thread.mutex = mutex;
  thread.parker = parker;
  thread.patience = patience;
  thread.unparked = false;
  thread.fiber->yield();
  thread.mutex = nullptr;
  thread.parker = nullptr;
}

// A thread that was just unparked takes its first lock in the same step if it can. Nothing is
// missed: until that lock it does only what concerns itself, and whatever could have happened
// between the two can also happen before both, with the same choice of wake-ups or more.
void Explorer::lock(Mutex& mutex) {
  if (!running_->unparked || mutex.held_) pause(&mutex, nullptr, Patience::Forever);
  running_->unparked = false;
  running_->sections += 1;
}

// The queued wake-up to be consumed; nullptr if the thread gives up.
WakeUp* Explorer::unpark(Parker& parker, Patience patience) {
  pause(nullptr, &parker, patience);
  running_->unparked = true;
  int options = patience == Patience::MayGiveUp ? 1 : 0;
  for (const WakeUp* wake = parker.first_; wake != nullptr; wake = wake->next_queued_) ++options;
  WakeUp* chosen = parker.first_;
  for (int skip = decide(options); skip > 0; --skip) chosen = chosen->next_queued_;
  steps_.back().what = chosen != nullptr ? "is woken" : "gives up";
  return chosen;
}

void Explorer::fail(std::string what) {
  if (!failure_) {
    failure_.emplace(Failure{.what = std::move(what), .schedule = {}, .trace = describe_trace()});
    for (std::size_t i = 0; i < depth_; ++i) failure_->schedule.push_back(path_[i].taken);
  }
  if (running_ != nullptr) running_->fiber->yield();  // for good: a failed schedule is not resumed
}

std::string Explorer::describe_stuck() const {
  std::string text;
  for (const Thread& thread : threads_) {
    if (thread.finished()) continue;
    if (!text.empty()) text += ", ";
    text += thread.name + (thread.mutex != nullptr ? " waits for a lock" : " is parked");
  }
  return text;
}

std::string Explorer::describe_trace() const {
  std::string text;
  for (const Step& step : steps_) text += "  " + step.thread->name + ": " + step.what + "\n";
  return text;
}

Report explore(const Scenario& setup, Bounds bounds) { return Explorer(bounds).explore(setup); }

Report replay(const Scenario& setup, const std::vector<int>& schedule, Bounds bounds) {
  return Explorer(bounds).replay(setup, schedule);
}

namespace {

// Setups and the destructors of a finished schedule run outside any logical thread: nothing there
// is a scheduling point.
bool on_thread() { return Explorer::current != nullptr && Explorer::current->on_thread(); }

}  // namespace

void point() {
  if (on_thread()) Explorer::current->pause(nullptr, nullptr, Patience::Forever);
}

int choose(int options) { return on_thread() ? Explorer::current->decide(options) : 0; }

void check(bool holds, std::string_view property) {
  if (!holds && Explorer::current != nullptr) {
    Explorer::current->fail("does not hold: " + std::string(property));
  }
}

void Mutex::lock() {
  if (on_thread()) Explorer::current->lock(*this);
  held_ = true;
}

void Mutex::unlock() {
  check(held_, "only a held mutex is unlocked");
  held_ = false;
  if (on_thread()) Explorer::current->leave_section();
}

void enter_unguarded() {
  if (on_thread()) Explorer::current->enter_section();
}
void leave_unguarded() {
  if (on_thread()) Explorer::current->leave_section();
}

bool Parker::park(Patience patience) {
  check(on_thread(), "only a logical thread parks");
  check(!Explorer::current->in_section(), "nobody parks with a lock held");
  WakeUp* wake = Explorer::current->unpark(*this, patience);
  return wake != nullptr && wake->take_back();
}

void WakeUp::wake() {
  check(!on_thread() || Explorer::current->in_section(), "a waiter is woken under its list's lock");
  if (std::exchange(queued_, true)) return;
  next_queued_ = nullptr;
  WakeUp** end = &parker_->first_;
  while (*end != nullptr) end = &(*end)->next_queued_;
  *end = this;
}

bool WakeUp::take_back() {
  if (!std::exchange(queued_, false)) return false;
  WakeUp** place = &parker_->first_;
  while (*place != this) place = &(*place)->next_queued_;
  *place = next_queued_;
  return true;
}

}  // namespace ron::models
