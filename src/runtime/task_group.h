// TaskGroup: owns the tasks it spawns. Nothing runs that no group owns.
//
// A group belongs to one executor; spawn, join and abort happen there. Make it the last member of
// its owner: it asserts that it is empty when it goes, so whatever its tasks refer to outlives
// them.
#pragma once

#include <cassert>
#include <cstddef>
#include <exception>
#include <functional>
#include <string_view>

#include "platform/task.h"
#include "platform/wait.h"
#include "runtime/deadline.h"
#include "runtime/meter.h"
#include "runtime/root_task.h"

namespace ron::runtime {

// The counters of one kind of task. Look them up once, share them between groups.
struct TaskMeters {
  TaskMeters(Meters& meters, std::string_view kind);
  Counter& spawned;
  Counter& aborted;
  Counter& panicked;
};

class TaskGroup {
 public:
  // Called with the exception a task let escape, after the task is gone.
  using OnPanic = std::move_only_function<void(std::exception_ptr)>;

  explicit TaskGroup(TaskMeters& meters, OnPanic on_panic = {});
  TaskGroup(const TaskGroup&) = delete;
  TaskGroup& operator=(const TaskGroup&) = delete;
  ~TaskGroup() { assert(size_ == 0 && "a task group outlives its tasks"); }

  // The task starts in a later job of this executor.
  void spawn(platform::Task<void> task);

  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  // Waits until every task has ended; false if the deadline passes first. Cancel-safe.
  platform::Task<bool> join(Deadline deadline);

  // Destroys every task where it is waiting and counts it. Not from within one of them.
  std::size_t abort_all() noexcept;

 private:
  class Member;
  void finished(Member& member, std::exception_ptr failure) noexcept;
  void unlink(Member& member) noexcept;

  TaskMeters& meters_;
  OnPanic on_panic_;
  Member* first_ = nullptr;
  std::size_t size_ = 0;
  platform::Parker* joiner_ = nullptr;
};

}  // namespace ron::runtime
