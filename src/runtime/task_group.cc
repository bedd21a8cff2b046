#include "runtime/task_group.h"

#include <utility>

#include "runtime/lock.h"
#include "runtime/metric_names.h"

namespace ron::runtime {

TaskMeters::TaskMeters(Meters& meters, std::string_view kind)
    : spawned(meters.counter(metrics::kTasksSpawnedTotal, {kind})),
      aborted(meters.counter(metrics::kTasksAbortedTotal, {kind})),
      panicked(meters.counter(metrics::kTasksPanickedTotal, {kind})) {}

class TaskGroup::Member : public RootTask {
 public:
  Member(TaskGroup& owner, platform::Task<void> task)
      : RootTask(std::move(task), &Member::done), group(owner) {}

  TaskGroup& group;
  Member* previous = nullptr;
  Member* next = nullptr;

 private:
  static void done(RootTask& root, std::exception_ptr failure) noexcept {
    auto& member = static_cast<Member&>(root);
    member.group.finished(member, std::move(failure));
  }
};

TaskGroup::TaskGroup(TaskMeters& meters, OnPanic on_panic)
    : meters_(meters), on_panic_(std::move(on_panic)) {}

void TaskGroup::spawn(platform::Task<void> task) {
  auto* member = new Member(*this, std::move(task));
  member->next = first_;
  if (first_ != nullptr) first_->previous = member;
  first_ = member;
  ++size_;
  meters_.spawned.add();
}

void TaskGroup::unlink(Member& member) noexcept {
  (member.previous != nullptr ? member.previous->next : first_) = member.next;
  if (member.next != nullptr) member.next->previous = member.previous;
  --size_;
}

void TaskGroup::finished(Member& member, std::exception_ptr failure) noexcept {
  unlink(member);
  delete &member;
  if (failure) {
    meters_.panicked.add();
    if (on_panic_) on_panic_(std::move(failure));
  }
  if (size_ == 0 && joiner_ != nullptr) joiner_->resume(true);
}

platform::Task<bool> TaskGroup::join(Deadline deadline) {
  assert(joiner_ == nullptr && "one joiner per group");
  platform::Parker parker;
  struct Joining {
    TaskGroup* group;
    ~Joining() { group->joiner_ = nullptr; }
  } const joining{this};
  while (size_ > 0) {
    joiner_ = &parker;
    assert_no_locks_held();
    const bool in_time = co_await parker.park(deadline.at());
    if (!in_time) co_return false;
  }
  co_return true;
}

std::size_t TaskGroup::abort_all() noexcept {
  std::size_t aborted = 0;
  while (first_ != nullptr) {
    Member& member = *first_;
    unlink(member);
    delete &member;
    meters_.aborted.add();
    ++aborted;
  }
  if (joiner_ != nullptr) joiner_->resume(true);
  return aborted;
}

}  // namespace ron::runtime
