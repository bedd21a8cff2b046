// WorkQueue: the bounded queue between a service's listeners and its workers, and what its users
// hear when it is full, late or gone.
//
// A job is a struct with `Answer` (what a worker says to it), `kLane` (which workers take it), a
// `deadline` and an optional `reply`. All of them form one variant; the lanes share the capacity.
#pragma once

#include <algorithm>
#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "base/result.h"
#include "platform/task.h"
#include "runtime/background.h"
#include "runtime/deadline.h"
#include "runtime/metric_names.h"
#include "runtime/mpsc.h"
#include "runtime/oneshot.h"
#include "runtime/permit.h"
#include "runtime/wait_either.h"

namespace ron::kit {

// What a full queue means to whoever asks: the client is told, or it waits under its deadline.
// Those who wait are answers on their way, which no in-flight limit bounds: together they fill half
// of it, so that new requests find room.
enum class WhenFull : std::uint8_t { Refuse, Wait };

// Any executor.
template <class Job>
class WorkQueue {
 public:
  WorkQueue(runtime::Topology& topology, const runtime::ChannelDecl& decl, std::size_t capacity,
            std::size_t lanes = 1)
      : name_(decl.name),
        jobs_(topology, decl, capacity, lanes),
        patient_(std::max<std::size_t>(1, capacity / 2)),
        left_queued_(topology.meters().counter(runtime::metrics::kWorkAbandonedTotal,
                                               {decl.name, "queued"})),
        left_running_(topology.meters().counter(runtime::metrics::kWorkAbandonedTotal,
                                                {decl.name, "running"})) {}

  // Hands the job to a worker and waits for what it says. Busy when the queue is full, Timeout when
  // the deadline passes, Canceled when the worker went away with the job. Cancel-safe: a worker
  // drops a job nobody waits for.
  template <class J>
  platform::Task<base::Result<typename J::Answer>> ask(J job, WhenFull when_full) {
    auto [sender, receiver] = runtime::oneshot<base::Result<typename J::Answer>>();
    job.reply.emplace(std::move(sender));
    const runtime::Deadline deadline = job.deadline;
    runtime::Semaphore::Permit place;
    using Kind = runtime::SendError<Job>::Kind;
    if (when_full == WhenFull::Refuse) {
      auto sent = jobs_.try_send(Job(std::move(job)), J::kLane);
      if (!sent) co_return base::fail(sent.error().kind == Kind::Full ? busy() : draining());
      if (on_queued_) on_queued_();
    } else {
      place = patient_.try_acquire();
      if (!place) place = co_await patient_.acquire(deadline);
      if (!place) co_return base::fail(late());
      auto sent = co_await jobs_.send(Job(std::move(job)), deadline, J::kLane);
      if (!sent) co_return base::fail(sent.error().kind == Kind::Full ? late() : draining());
      if (on_queued_) on_queued_();
    }
    auto reply = co_await receiver.recv(deadline);
    co_return answer_of(std::move(reply));
  }

  // Hands over a job whose reply the caller made; that hears Busy or Draining if it cannot be.
  // Never waits.
  template <class J>
  void post(J job) {
    using Kind = runtime::SendError<Job>::Kind;
    auto sent = jobs_.try_send(Job(std::move(job)), J::kLane);
    if (sent) {
      if (on_queued_) on_queued_();
      return;
    }
    base::Error why = sent.error().kind == Kind::Full ? busy() : draining();
    std::move(*std::get<J>(sent.error().value).reply).send(base::fail(std::move(why)));
  }
  // What came of waiting for a job's reply: as in ask.
  template <class T>
  static base::Result<T> answer_of(std::expected<base::Result<T>, runtime::Waited> reply) {
    if (reply) return std::move(*reply);
    if (reply.error() == runtime::Waited::TimedOut) return base::fail(late());
    return base::fail(base::Code::Canceled, "the work was cancelled before it finished");
  }

  // The body of a worker: has `run` do the lane's jobs one after the other, until a stop is asked
  // for and nothing is queued. `run` takes a job and gives a Task<void>, which sends the reply or
  // hands it on and then ends. A job that nobody waits for any more is not begun, and dropped where
  // it waits if it was. Cancel-safe: the job at hand goes with its worker.
  template <class Run>
  platform::Task<void> work(runtime::Shutdown shutdown, std::size_t lane, Run run) {
    for (;;) {
      auto job = co_await jobs_.recv_or_stop(shutdown, lane);
      if (!job) co_return;
      co_await std::visit([&](auto& one) { return attend(std::move(one), &run); }, *job);
    }
  }

  // For a worker that does several jobs at once: the first of them; nothing once a stop is
  // requested and nothing is queued. Cancel-safe.
  platform::Task<std::optional<Job>> take(runtime::Shutdown shutdown, std::size_t lane = 0) {
    auto job = co_await jobs_.recv_or_stop(std::move(shutdown), lane);
    if (!job) co_return std::nullopt;
    co_return std::move(*job);
  }
  // And the next one that somebody waits for, if there is one. Never waits.
  std::optional<Job> try_take(std::size_t lane = 0) {
    for (;;) {
      std::optional<Job> job = jobs_.try_recv(lane);
      if (!job || !std::visit([](auto& one) { return is_abandoned(one); }, *job)) return job;
      left_queued_.add();
    }
  }
  // Called after a job was queued, on the executor that did. Set before the queue is used.
  void on_queued(std::function<void()> tell) { on_queued_ = std::move(tell); }

  // Nobody takes jobs any more: whoever asks hears that the server is shutting down.
  void close() noexcept { jobs_.close(); }

  // Busy, counted, if a job would be refused now.
  base::Result<void> check_room() {
    if (jobs_.refuse_if_full()) return base::fail(busy());
    return {};
  }
  [[nodiscard]] std::size_t depth() const noexcept { return jobs_.depth(); }
  [[nodiscard]] std::size_t capacity() const noexcept { return jobs_.capacity(); }

 private:
  // Nobody waits for it any more. Nobody ever did for a job that says so by `kUnwatched`.
  template <class J>
  static bool is_abandoned(const J& job) {
    if constexpr (requires { J::kUnwatched; }) return false;
    return job.reply->abandoned();
  }

  // Work that need not wait is over before anyone could leave.
  template <class J, class Run>
  platform::Task<void> attend(J job, Run* run) {
    if (is_abandoned(job)) {
      left_queued_.add();
      co_return;
    }
    const auto left = job.reply->until_abandoned();
    runtime::Background<void> running((*run)(std::move(job)));
    if (!running.done()) {
      const runtime::First first =
          co_await runtime::wait_either(running.finished(), left, runtime::Deadline());
      if (first == runtime::First::Other) {
        left_running_.add();
        co_return;
      }
    }
    running.take();
  }

  [[nodiscard]] base::Error busy() const {
    return base::Error(base::Code::Busy, "the " + name_ + " queue is full")
        .with("queue", name_)
        .with("capacity", std::to_string(jobs_.capacity()));
  }
  static base::Error late() {
    return {base::Code::Timeout, "the work was not done before the request's deadline"};
  }
  static base::Error draining() { return {base::Code::Draining, "the server is shutting down"}; }

  const std::string name_;
  runtime::Mpsc<Job> jobs_;
  runtime::Semaphore patient_;
  std::function<void()> on_queued_;
  runtime::Counter& left_queued_;
  runtime::Counter& left_running_;
};

}  // namespace ron::kit
