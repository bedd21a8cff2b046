// RootTask: the outermost frame of a task. Starts it on its executor and reports its end.
//
// Made, started and destroyed on one executor. Destroying it before its end aborts the task where
// it waits. `on_done` is the last thing the task does; it may destroy the RootTask.
#pragma once

#include <coroutine>
#include <exception>
#include <utility>

#include "platform/executor.h"
#include "platform/task.h"

namespace ron::runtime {

class RootTask : private platform::Job {
 public:
  using OnDone = void (*)(RootTask&, std::exception_ptr failure) noexcept;

  // The task starts in a later job of the current executor.
  RootTask(platform::Task<void> task, OnDone on_done)
      : Job(&RootTask::start),
        executor_(*platform::Executor::current()),
        task_(std::move(task)),
        on_done_(on_done),
        frame_(drive(this).frame) {
    executor_.post(*this);
  }
  RootTask(const RootTask&) = delete;
  RootTask& operator=(const RootTask&) = delete;
  ~RootTask() {
    executor_.unpost(*this);
    frame_.destroy();
    task_.reset();
  }

 private:
  struct Driver {
    struct promise_type {
      explicit promise_type(RootTask* owner) noexcept : root(owner) {}
      static void* operator new(std::size_t bytes) { return platform::allocate_frame(bytes); }
      static void operator delete(void* frame, std::size_t bytes) noexcept {
        platform::release_frame(frame, bytes);
      }
      Driver get_return_object() noexcept {
        return {std::coroutine_handle<promise_type>::from_promise(*this)};
      }
      std::suspend_always initial_suspend() noexcept { return {}; }
      struct Report {
        bool await_ready() noexcept { return false; }
        void await_suspend(std::coroutine_handle<promise_type> done) noexcept {
          RootTask& ended = *done.promise().root;
          ended.task_.reset();
          ended.on_done_(ended, std::move(done.promise().failure));
        }
        void await_resume() noexcept {}
      };
      Report final_suspend() noexcept { return {}; }
      void return_void() noexcept {}
      void unhandled_exception() noexcept { failure = std::current_exception(); }

      RootTask* root;
      std::exception_ptr failure;
    };
    std::coroutine_handle<promise_type> frame;
  };

  static Driver drive(RootTask* root) { co_await root->task_; }
  static void start(Job& job) noexcept { static_cast<RootTask&>(job).frame_.resume(); }

  platform::Executor& executor_;
  platform::Task<void> task_;
  OnDone on_done_;
  std::coroutine_handle<Driver::promise_type> frame_;
};

}  // namespace ron::runtime
