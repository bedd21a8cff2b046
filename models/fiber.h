// Fiber: a stack of its own for one logical thread, switched by hand.
//
// All fibers of a test share one OS thread, so exactly one runs at a time and a switch costs less
// than a microsecond: that is what makes hundreds of thousands of schedules affordable.
// AddressSanitizer and ThreadSanitizer are told about every switch. A fiber is reused: when its
// body has returned it is idle and may be given another one. Not for production code.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include <ucontext.h>

namespace ron::models {

class Fiber {
 public:
  Fiber();
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Gives an idle fiber something to do; nothing runs before resume(). The body must not throw.
  void start(std::function<void()> body);
  // Runs the body until it yields or returns. From outside any fiber.
  void resume();
  // Back to whoever resumed. From inside the body only.
  void yield();

  [[nodiscard]] bool idle() const noexcept { return !body_; }

 private:
  static constexpr std::size_t kStackBytes = 256 * 1024;

  static void enter();
  void run_bodies();
  void leave();

  std::unique_ptr<std::byte[]> stack_;
  ucontext_t inside_{};
  ucontext_t outside_{};
  std::function<void()> body_;

  // What the sanitizers hand out at a switch and want back at the next one.
  [[maybe_unused]] void* inside_shadow_ = nullptr;
  [[maybe_unused]] void* outside_shadow_ = nullptr;
  [[maybe_unused]] const void* outside_stack_ = nullptr;
  [[maybe_unused]] std::size_t outside_stack_bytes_ = 0;
};

}  // namespace ron::models
