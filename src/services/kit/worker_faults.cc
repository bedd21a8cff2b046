#include "services/kit/worker_faults.h"

#include <stdexcept>
#include <utility>

#include "runtime/background.h"
#include "runtime/wait_either.h"

namespace ron::kit {

platform::Task<void> WorkerFaults::run(platform::Task<void> work) {
  const Running counted(running_);
  runtime::Background<void> working(std::move(work));
  while (!working.done()) {
    const Asked to_fail = asked();
    if (take()) throw std::runtime_error("debug.fail_workers");
    co_await runtime::wait_either(working.finished(), to_fail, runtime::Deadline());
  }
  working.take();
}

}  // namespace ron::kit
