// Test harness: a real loop on a thread of its own, for what ThreadSanitizer is run over.
#pragma once

#include <functional>
#include <latch>
#include <memory>
#include <thread>
#include <utility>

#include "platform/posix/loop.h"
#include "platform/task.h"
#include "runtime/task_group.h"

namespace ron::runtime {

// A loop on its own thread, with a group for what is spawned on it. `finish` waits for all of it.
class LoopThread {
 public:
  explicit LoopThread(TaskMeters& meters) : tasks_(meters), closer_(meters) {}
  LoopThread(const LoopThread&) = delete;
  LoopThread& operator=(const LoopThread&) = delete;

  platform::posix::Loop& loop() { return loop_; }

  // Calls `make` on the loop's thread and runs the task it returns.
  void spawn(std::move_only_function<platform::Task<void>()> make) {
    loop_.post(*new Spawn(tasks_, std::move(make)));
  }
  // Returns when everything spawned so far has ended.
  void finish() {
    std::latch done(1);
    loop_.post(*new Spawn(closer_, [&] { return end(&tasks_, &done); }));
    done.wait();
    loop_.stop();
    thread_.join();
  }

 private:
  struct Spawn : platform::Job {
    Spawn(TaskGroup& owner, std::move_only_function<platform::Task<void>()> what)
        : Job(&Spawn::run_it), group(owner), make(std::move(what)) {}
    static void run_it(Job& job) noexcept {
      const std::unique_ptr<Spawn> self(static_cast<Spawn*>(&job));
      self->group.spawn(self->make());
    }
    TaskGroup& group;
    std::move_only_function<platform::Task<void>()> make;
  };

  static platform::Task<void> end(TaskGroup* tasks, std::latch* done) {
    co_await tasks->join({});
    done->count_down();
  }

  platform::posix::Loop loop_;
  TaskGroup tasks_;
  TaskGroup closer_;
  std::jthread thread_{[this] { loop_.run(); }};
};

}  // namespace ron::runtime
