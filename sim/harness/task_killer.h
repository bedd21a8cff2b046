// TaskKiller: makes supervised tasks of a service fail where they wait, as a defect in them would.
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "platform/task.h"
#include "platform/wait.h"
#include "runtime/child.h"
#include "services/kit/service_kind.h"
#include "sim/harness/dice.h"

namespace ron::sim {

// Outlives the service whose tasks it wraps.
class TaskKiller {
 public:
  // `on_failure` is told the kind of each task that fails, just before it does.
  explicit TaskKiller(std::function<void(std::string_view kind)> on_failure)
      : on_failure_(std::move(on_failure)) {}
  TaskKiller(const TaskKiller&) = delete;
  TaskKiller& operator=(const TaskKiller&) = delete;

  // For kit::ServiceParts.
  kit::TaskWrap wrap();
  // One of those that run, drawn; none if none does.
  void kill_one(Dice& dice);

 private:
  // A task that runs, for as long as it does.
  struct Victim {
    explicit Victim(TaskKiller& killer_in) : killer(killer_in) { killer.running_.push_back(this); }
    Victim(const Victim&) = delete;
    Victim& operator=(const Victim&) = delete;
    ~Victim() { std::erase(killer.running_, this); }

    TaskKiller& killer;
    platform::Event doom;
  };
  static platform::Task<void> run(TaskKiller* killer, const runtime::TaskDecl* decl,
                                  runtime::ChildBody body, runtime::Shutdown shutdown);

  const std::function<void(std::string_view)> on_failure_;
  std::vector<Victim*> running_;
};

}  // namespace ron::sim
