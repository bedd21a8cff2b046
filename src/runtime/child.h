// ChildRun: one run of a supervised task, possibly on another core. It is started, and if need be
// aborted, on its home executor; whoever supervises waits for its outcome on their own.
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <string>

#include "platform/executor.h"
#include "platform/task.h"
#include "runtime/oneshot.h"
#include "runtime/shutdown.h"
#include "runtime/task_group.h"

namespace ron::runtime {

struct Outcome {
  enum class Kind : std::uint8_t { Finished, Failed, Aborted };
  Kind kind = Kind::Finished;
  std::string what;  // the escaped exception's text when Failed
};

// The body is called on the home executor, in the job in which its task starts to run; it may be
// called again for a restart.
using ChildBody = std::function<platform::Task<void>(Shutdown)>;

class ChildRun {
 public:
  ChildRun(platform::Executor& home, TaskMeters& meters, ChildBody body, Shutdown shutdown);

  // The outcome, once. Cancel-safe.
  platform::Task<std::expected<Outcome, Waited>> outcome(Deadline deadline) {
    return done_.recv(deadline);
  }
  // Asks the home executor to destroy the task where it waits; the outcome follows. Any thread.
  void abort();

 private:
  class State;
  using Reply = std::pair<OneshotSender<Outcome>, OneshotReceiver<Outcome>>;
  ChildRun(platform::Executor& home, TaskMeters& meters, ChildBody body, Shutdown shutdown,
           Reply reply);

  std::shared_ptr<State> state_;
  OneshotReceiver<Outcome> done_;
};

}  // namespace ron::runtime
