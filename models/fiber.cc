#include "fiber.h"

#include <cassert>
#include <utility>

#if defined(__SANITIZE_ADDRESS__) || (defined(__has_feature) && __has_feature(address_sanitizer))
#define RON_MODELS_ASAN 1
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(__SANITIZE_THREAD__) || (defined(__has_feature) && __has_feature(thread_sanitizer))
#define RON_MODELS_TSAN 1
#include <sanitizer/tsan_interface.h>
#endif

namespace ron::models {
namespace {

// makecontext passes only ints; a fiber that starts finds itself here.
Fiber* entering = nullptr;

}  // namespace

Fiber::Fiber() : stack_(std::make_unique_for_overwrite<std::byte[]>(kStackBytes)) {
  getcontext(&inside_);
  inside_.uc_stack.ss_sp = stack_.get();
  inside_.uc_stack.ss_size = kStackBytes;
  inside_.uc_link = nullptr;
  makecontext(&inside_, &Fiber::enter, 0);
#ifdef RON_MODELS_TSAN
  inside_shadow_ = __tsan_create_fiber(0);
#endif
}

Fiber::~Fiber() {
#ifdef RON_MODELS_TSAN
  __tsan_destroy_fiber(inside_shadow_);
#endif
}

void Fiber::start(std::function<void()> body) {
  assert(idle() && "a fiber runs one body at a time");
  body_ = std::move(body);
}

void Fiber::resume() {
  entering = this;
#ifdef RON_MODELS_ASAN
  __sanitizer_start_switch_fiber(&outside_shadow_, stack_.get(), kStackBytes);
#endif
#ifdef RON_MODELS_TSAN
  outside_shadow_ = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(inside_shadow_, 0);
#endif
  swapcontext(&outside_, &inside_);
#ifdef RON_MODELS_ASAN
  __sanitizer_finish_switch_fiber(outside_shadow_, nullptr, nullptr);
#endif
}

void Fiber::yield() { leave(); }

void Fiber::leave() {
#ifdef RON_MODELS_ASAN
  __sanitizer_start_switch_fiber(&inside_shadow_, outside_stack_, outside_stack_bytes_);
#endif
#ifdef RON_MODELS_TSAN
  __tsan_switch_to_fiber(outside_shadow_, 0);
#endif
  swapcontext(&inside_, &outside_);
#ifdef RON_MODELS_ASAN
  __sanitizer_finish_switch_fiber(inside_shadow_, &outside_stack_, &outside_stack_bytes_);
#endif
}

void Fiber::enter() {
  Fiber& self = *entering;
#ifdef RON_MODELS_ASAN
  __sanitizer_finish_switch_fiber(nullptr, &self.outside_stack_, &self.outside_stack_bytes_);
#endif
  self.run_bodies();
}

void Fiber::run_bodies() {
  for (;;) {
    body_();
    body_ = nullptr;
    leave();
  }
}

}  // namespace ron::models
