// Background<T>: a task that runs beside its owner, who waits for it together with other things and
// may drop it at any moment. Dropping it aborts it where it waits.
//
// One executor. The task begins in the constructor and may have ended when that returns: work that
// need not wait costs no turn of the loop.
#pragma once

#include <cassert>
#include <coroutine>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

#include "platform/task.h"
#include "platform/wait.h"
#include "runtime/wait_either.h"

namespace ron::runtime {

template <class T>
class Background {
 public:
  explicit Background(platform::Task<T> task) : task_(std::move(task)), flow_(run(this)) {}
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;
  ~Background() { flow_.frame.destroy(); }

  [[nodiscard]] bool done() const noexcept { return ended_.is_set(); }
  // What the task returned, once, after done(); throws what it let escape.
  T take() {
    assert(done());
    if (failure_) std::rethrow_exception(failure_);
    if constexpr (!std::is_void_v<T>) return std::move(*value_);
  }

  // For a wait: ready when done.
  [[nodiscard]] EventOp finished() noexcept { return EventOp(ended_); }

 private:
  struct Flow {
    struct promise_type {
      explicit promise_type(Background* owner) noexcept : background(owner) {}
      static void* operator new(std::size_t bytes) { return platform::allocate_frame(bytes); }
      static void operator delete(void* frame, std::size_t bytes) noexcept {
        platform::release_frame(frame, bytes);
      }
      Flow get_return_object() noexcept {
        return {std::coroutine_handle<promise_type>::from_promise(*this)};
      }
      std::suspend_never initial_suspend() noexcept { return {}; }
      std::suspend_always final_suspend() noexcept {
        background->ended_.set();
        return {};
      }
      void return_void() noexcept {}
      void unhandled_exception() noexcept { background->failure_ = std::current_exception(); }

      Background* background;
    };
    std::coroutine_handle<promise_type> frame;
  };

  static Flow run(Background* self) {
    if constexpr (std::is_void_v<T>) {
      co_await self->task_;
    } else {
      T value = co_await self->task_;
      self->value_.emplace(std::move(value));
    }
  }

  platform::Event ended_;
  struct Nothing {};
  std::optional<std::conditional_t<std::is_void_v<T>, Nothing, T>> value_;
  std::exception_ptr failure_;
  platform::Task<T> task_;
  Flow flow_;  // last: it begins with everything in place
};

}  // namespace ron::runtime
