// A deadline for work that does not take one itself: a look-up in an index, a read from a medium.
#pragma once

#include <utility>

#include "base/result.h"
#include "platform/task.h"
#include "runtime/background.h"
#include "runtime/deadline.h"
#include "runtime/waiting.h"

namespace ron::runtime {

// What the task says, or Timeout once the deadline has passed: it is aborted where it waits then.
// Work that need not wait is never late and costs no timer. Cancel-safe if the task is, which it
// must be.
template <class T>
platform::Task<base::Result<T>> within(Deadline deadline, platform::Task<base::Result<T>> task) {
  Background<base::Result<T>> running(std::move(task));
  if (!running.done()) {
    const Waited waited = co_await wait_for(running.finished(), deadline);
    if (waited == Waited::TimedOut) {
      co_return base::fail(base::Code::Timeout, "there was no answer before the deadline");
    }
  }
  co_return running.take();
}

}  // namespace ron::runtime
