// call_on: runs a function on another executor and brings its result back.
#pragma once

#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "platform/executor.h"
#include "platform/task.h"
#include "runtime/oneshot.h"

namespace ron::runtime {

namespace detail {

template <class Work, class T>
struct RemoteCall : platform::Job {
  RemoteCall(Work what, OneshotSender<T> to)
      : Job(&RemoteCall::land), work(std::move(what)), reply(std::move(to)) {}
  static void land(Job& job) noexcept {
    const std::unique_ptr<RemoteCall> self(static_cast<RemoteCall*>(&job));
    std::move(self->reply).send(self->work());
  }
  Work work;
  OneshotSender<T> reply;
};

}  // namespace detail

// Runs `work` (which must not throw) as a job of `home`. Cancel-safe: an aborted caller only loses
// the result; the work still runs.
template <class Work>
platform::Task<std::invoke_result_t<Work>> call_on(platform::Executor* home, Work work) {
  using T = std::invoke_result_t<Work>;
  auto [sender, receiver] = oneshot<T>();
  home->post(*new detail::RemoteCall<Work, T>(std::move(work), std::move(sender)));
  auto result = co_await receiver.recv(Deadline());
  co_return std::move(*result);
}

}  // namespace ron::runtime
