// For the tests of this folder: a task started by hand, and the I/O loops every net test needs.
#pragma once

#include <coroutine>
#include <exception>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "platform/net.h"
#include "platform/task.h"

namespace ron::platform::test {

// Runs a task on an executor; destroying it aborts the task. Own thread of the executor only, apart
// from the constructor while that does not run yet.
class Root : private Job {
 public:
  Root(Executor& executor, Task<void> task, std::function<void()> on_done = {})
      : Job(&Root::begin),
        executor_(executor),
        on_done_(std::move(on_done)),
        flow_(drive(this, std::move(task))) {
    executor_.post(*this);
  }
  Root(const Root&) = delete;
  Root& operator=(const Root&) = delete;
  ~Root() {
    executor_.unpost(*this);
    if (flow_.frame) flow_.frame.destroy();
  }

  [[nodiscard]] bool done() const noexcept { return done_; }

 private:
  struct Flow {
    struct promise_type {
      Flow get_return_object() noexcept {
        return {std::coroutine_handle<promise_type>::from_promise(*this)};
      }
      std::suspend_always initial_suspend() noexcept { return {}; }
      std::suspend_always final_suspend() noexcept { return {}; }
      void return_void() noexcept {}
      void unhandled_exception() noexcept { std::terminate(); }
    };
    std::coroutine_handle<promise_type> frame;
  };

  static void begin(Job& job) noexcept { static_cast<Root&>(job).flow_.frame.resume(); }
  static Flow drive(Root* root, Task<void> task) {
    co_await task;
    root->done_ = true;
    if (root->on_done_) root->on_done_();
  }

  Executor& executor_;
  std::function<void()> on_done_;
  bool done_ = false;
  Flow flow_;
};

// Waits on the current executor until `delay` from now.
inline Task<void> pause(MonotonicClock::duration delay) {
  Parker parker;
  co_await parker.park(parker.executor().now() + delay);
}

// The next connection of the listener; failed accepts are tried again.
inline Task<std::unique_ptr<Stream>> accept(Listener* listener) {
  for (;;) {
    int error = 0;
    std::unique_ptr<Stream> stream = listener->try_accept(error);
    if (stream != nullptr) co_return stream;
    if (error != 0) co_await pause(std::chrono::milliseconds(1));
    co_await listener->acceptable().wait();
  }
}

// Waits for the handshake; 0 or the errno it failed with.
inline Task<int> established(Stream* stream) {
  for (;;) {
    const IoResult result = stream->try_write({});
    if (result.ok()) co_return 0;
    if (!result.would_block()) co_return result.error;
    co_await stream->writable().wait();
  }
}

// Writes everything; 0 or the errno.
inline Task<int> write_all(Stream* stream, std::string text) {
  std::string_view left = text;
  while (!left.empty()) {
    const base::ByteView span = base::as_bytes(left);
    const IoResult result = stream->try_write({&span, 1});
    if (result.ok()) {
      left.remove_prefix(result.bytes);
    } else if (result.would_block()) {
      co_await stream->writable().wait();
    } else {
      co_return result.error;
    }
  }
  co_return 0;
}

struct ReadText {
  std::string text;
  IoResult::Kind end = IoResult::Kind::Bytes;  // Bytes: there may be more
  int error = 0;
};

// Reads until there are `limit` bytes, the end, or a failure.
inline Task<ReadText> read_up_to(Stream* stream, std::size_t limit, std::size_t step = 4096) {
  ReadText read;
  std::string buffer(step, '\0');
  while (read.text.size() < limit) {
    const std::size_t want = std::min(step, limit - read.text.size());
    const IoResult result = stream->try_read({reinterpret_cast<std::byte*>(buffer.data()), want});
    if (result.would_block()) {
      co_await stream->readable().wait();
      continue;
    }
    if (!result.ok()) {
      read.end = result.kind;
      read.error = result.error;
      break;
    }
    read.text.append(buffer, 0, result.bytes);
  }
  co_return read;
}

}  // namespace ron::platform::test
