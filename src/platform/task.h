// Task<T>: a lazily started coroutine that yields one T to the coroutine awaiting it.
//
// A task runs on the executor of whoever awaits it and never moves to another. Destroying a
// suspended task destroys its whole stack of frames, innermost first: locals release what they hold
// (permits, waiters, timers). That is how work is aborted here, so nothing after the pending
// co_await runs. Parameters of a coroutine are taken by value: the frame outlives the call.
#pragma once

#include <coroutine>
#include <cstddef>
#include <exception>
#include <new>
#include <optional>
#include <utility>
#include <variant>

namespace ron::platform {

// Recycles coroutine frames per thread, so that a request costs no call to the allocator.
// Bounded: each size class keeps a limited number of free frames.
void* allocate_frame(std::size_t bytes);
void release_frame(void* frame, std::size_t bytes) noexcept;

template <class T = void>
class Task;

namespace detail {

class PromiseBase {
 public:
  static void* operator new(std::size_t bytes) { return allocate_frame(bytes); }
  static void operator delete(void* frame, std::size_t bytes) noexcept {
    release_frame(frame, bytes);
  }

  std::suspend_always initial_suspend() noexcept { return {}; }

  struct Finish {
    bool await_ready() noexcept { return false; }
    template <class Promise>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> done) noexcept {
      return done.promise().continuation_;
    }
    void await_resume() noexcept {}
  };
  Finish final_suspend() noexcept { return {}; }

  void set_continuation(std::coroutine_handle<> continuation) noexcept {
    continuation_ = continuation;
  }

 private:
  std::coroutine_handle<> continuation_ = std::noop_coroutine();
};

template <class T>
class Promise : public PromiseBase {
 public:
  Task<T> get_return_object() noexcept;
  void unhandled_exception() noexcept { result_.template emplace<2>(std::current_exception()); }
  template <class U>
  void return_value(U&& value) {
    result_.template emplace<1>(std::forward<U>(value));
  }
  T take() {
    if (result_.index() == 2) std::rethrow_exception(std::get<2>(result_));
    return std::move(std::get<1>(result_));
  }

 private:
  std::variant<std::monostate, T, std::exception_ptr> result_;
};

template <>
class Promise<void> : public PromiseBase {
 public:
  Task<void> get_return_object() noexcept;
  void unhandled_exception() noexcept { failure_ = std::current_exception(); }
  void return_void() noexcept {}
  void take() {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  std::exception_ptr failure_;
};

}  // namespace detail

template <class T>
class [[nodiscard]] Task {
 public:
  using promise_type = detail::Promise<T>;

  Task() = default;
  explicit Task(std::coroutine_handle<promise_type> frame) noexcept : frame_(frame) {}
  Task(Task&& other) noexcept : frame_(std::exchange(other.frame_, nullptr)) {}
  Task& operator=(Task&& other) noexcept {
    if (this != &other) {
      reset();
      frame_ = std::exchange(other.frame_, nullptr);
    }
    return *this;
  }
  ~Task() { reset(); }

  explicit operator bool() const noexcept { return frame_ != nullptr; }

  // Destroys the frame, aborting whatever it was waiting for.
  void reset() noexcept {
    if (frame_) std::exchange(frame_, nullptr).destroy();
  }

  class Awaiter {
   public:
    explicit Awaiter(std::coroutine_handle<promise_type> frame) noexcept : frame_(frame) {}
    bool await_ready() noexcept { return false; }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<> awaiting) noexcept {
      frame_.promise().set_continuation(awaiting);
      return frame_;
    }
    T await_resume() { return frame_.promise().take(); }

   private:
    std::coroutine_handle<promise_type> frame_;
  };
  Awaiter operator co_await() const noexcept { return Awaiter(frame_); }

 private:
  std::coroutine_handle<promise_type> frame_;
};

namespace detail {

template <class T>
Task<T> Promise<T>::get_return_object() noexcept {
  return Task<T>(std::coroutine_handle<Promise<T>>::from_promise(*this));
}
inline Task<void> Promise<void>::get_return_object() noexcept {
  return Task<void>(std::coroutine_handle<Promise<void>>::from_promise(*this));
}

}  // namespace detail

}  // namespace ron::platform
