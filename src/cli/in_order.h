// InOrder<T>: runs up to `width` tasks side by side and hands their results over in the order they
// were started.
//
//   InOrder<Result> window(meters, 8);
//   while (more) {
//     if (window.full()) { Result oldest = co_await window.next(); … }
//     window.start(work(…));
//   }
//   while (!window.empty()) { … co_await window.next() … }
//
// One executor, one consumer. Memory is `width` tasks and results. Destroying it aborts what runs;
// what the tasks refer to must outlive it.
#pragma once

#include <cassert>
#include <exception>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "platform/task.h"
#include "platform/wait.h"
#include "runtime/task_group.h"

namespace ron::cli {

template <class T>
class InOrder {
 public:
  InOrder(runtime::TaskMeters& meters, std::size_t width) : slots_(width), group_(meters) {
    assert(width > 0);
    for (auto& slot : slots_) slot = std::make_unique<Slot>();
  }
  InOrder(const InOrder&) = delete;
  InOrder& operator=(const InOrder&) = delete;
  ~InOrder() { group_.abort_all(); }

  [[nodiscard]] bool full() const noexcept { return started_ - taken_ == slots_.size(); }
  [[nodiscard]] bool empty() const noexcept { return started_ == taken_; }

  // Not while full.
  void start(platform::Task<T> task) {
    assert(!full());
    Slot* const slot = slots_[started_++ % slots_.size()].get();
    slot->done.clear();
    group_.spawn(fill(slot, std::move(task)));
  }

  // The oldest result, once it is there; rethrows what its task threw. Not while empty. Waits as
  // long as the task does. Cancel-safe: the result stays.
  platform::Task<T> next() {
    assert(!empty());
    Slot* const slot = slots_[taken_ % slots_.size()].get();
    while (!slot->done.is_set()) co_await slot->done.wait();
    ++taken_;
    if (slot->failure) std::rethrow_exception(std::exchange(slot->failure, nullptr));
    T result = std::move(*slot->result);
    slot->result.reset();
    co_return std::move(result);
  }

 private:
  struct Slot {
    platform::Event done;
    std::optional<T> result;
    std::exception_ptr failure;
  };

  static platform::Task<void> fill(Slot* slot, platform::Task<T> task) {
    try {
      T result = co_await task;
      slot->result.emplace(std::move(result));
    } catch (...) {
      slot->failure = std::current_exception();
    }
    slot->done.set();
  }

  std::vector<std::unique_ptr<Slot>> slots_;
  std::size_t started_ = 0;
  std::size_t taken_ = 0;
  runtime::TaskGroup group_;
};

}  // namespace ron::cli
