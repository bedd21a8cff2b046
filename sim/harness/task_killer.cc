#include "sim/harness/task_killer.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "runtime/background.h"
#include "runtime/deadline.h"
#include "runtime/wait_either.h"
#include "services/kit/wires.h"

namespace ron::sim {

kit::TaskWrap TaskKiller::wrap() {
  return [this](const runtime::TaskDecl& decl, runtime::ChildBody body) -> runtime::ChildBody {
    // When a reload takes effect is what the timeline says, and not for chance to decide.
    if (decl.kind == kit::kReloaderTask.kind) return body;
    return [this, &decl, body = std::move(body)](runtime::Shutdown shutdown) {
      return run(this, &decl, body, std::move(shutdown));
    };
  };
}

void TaskKiller::kill_one(Dice& dice) {
  if (running_.empty()) return;
  running_[dice.below(running_.size())]->doom.set();
}

platform::Task<void> TaskKiller::run(TaskKiller* killer, const runtime::TaskDecl* decl,
                                     runtime::ChildBody body, runtime::Shutdown shutdown) {
  Victim victim(*killer);
  runtime::Background<void> task(body(std::move(shutdown)));
  const runtime::First first = co_await runtime::wait_either(
      task.finished(), runtime::EventOp(victim.doom), runtime::Deadline());
  if (first == runtime::First::One) {
    task.take();
    co_return;
  }
  killer->on_failure_(decl->kind);
  throw std::runtime_error("made to fail");
}

}  // namespace ron::sim
