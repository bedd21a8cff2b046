// Completion<T>: the result of a device operation, on its way to the coroutine that waits for it.
//
// The device holds it while the operation is under way, the waiting frame while it waits; whoever
// lets go last frees it, so an aborted caller leaves nothing dangling. Not synchronised: finish()
// is called on the waiting executor's own thread.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "platform/task.h"
#include "platform/wait.h"

namespace ron::platform {

template <class T>
class Completion {
 public:
  Completion() = default;
  Completion(const Completion&) = delete;
  Completion& operator=(const Completion&) = delete;

  // At most once.
  void finish(T value) {
    value_.emplace(std::move(value));
    if (waiter_ != nullptr) std::exchange(waiter_, nullptr)->wake();
  }

  // Cancel-safe: the result of an aborted wait is dropped. One waiter.
  static Task<T> wait(std::shared_ptr<Completion> completion) {
    Parker parker;
    Waiter waiter(parker);
    const Link link(*completion, waiter);
    if (!completion->value_) co_await parker.park(kNever);
    co_return std::move(*completion->value_);
  }

 private:
  class Link {
   public:
    Link(Completion& completion, Waiter& waiter) noexcept
        : completion_(completion), waiter_(waiter) {
      completion_.waiter_ = &waiter_;
    }
    Link(const Link&) = delete;
    Link& operator=(const Link&) = delete;
    ~Link() {
      if (completion_.waiter_ == nullptr) waiter_.take_back();
      completion_.waiter_ = nullptr;
    }

   private:
    Completion& completion_;
    Waiter& waiter_;
  };

  std::optional<T> value_;
  Waiter* waiter_ = nullptr;
};

}  // namespace ron::platform
