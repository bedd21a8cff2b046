// WorkQueue: the bounded queue between a service's listeners and its workers, and what its users
// hear when it is full, late or gone.
//
// A job is a struct with `Answer` (what a worker says to it), `kLane` (which workers take it), a
// `deadline` and an optional `reply`. All of them form one variant; the lanes share the capacity.
#pragma once

#include <algorithm>
#include <cstdint>
#include <expected>
#include <string>
#include <utility>
#include <variant>

#include "base/result.h"
#include "platform/task.h"
#include "runtime/deadline.h"
#include "runtime/mpsc.h"
#include "runtime/oneshot.h"
#include "runtime/permit.h"

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
        patient_(std::max<std::size_t>(1, capacity / 2)) {}

  // Hands the job to a worker and waits for what it says. Busy when the queue is full, Timeout when
  // the deadline passes, Canceled when the worker went away with the job. Cancel-safe: a worker
  // skips a job nobody waits for.
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
    } else {
      place = patient_.try_acquire();
      if (!place) place = co_await patient_.acquire(deadline);
      if (!place) co_return base::fail(late());
      auto sent = co_await jobs_.send(Job(std::move(job)), deadline, J::kLane);
      if (!sent) co_return base::fail(sent.error().kind == Kind::Full ? late() : draining());
    }
    auto reply = co_await receiver.recv(deadline);
    if (reply) co_return std::move(*reply);
    if (reply.error() == runtime::Waited::TimedOut) co_return base::fail(late());
    co_return base::fail(base::Code::Canceled, "the work was cancelled before it finished");
  }

  // The next job of the lane that somebody still waits for. Cancel-safe.
  platform::Task<std::expected<Job, runtime::Waited>> next(runtime::Shutdown shutdown,
                                                           std::size_t lane = 0) {
    for (;;) {
      auto job = co_await jobs_.recv_or_stop(shutdown, lane);
      if (!job) co_return job;
      const bool wanted = std::visit([](const auto& one) { return !one.reply->abandoned(); }, *job);
      if (wanted) co_return job;
    }
  }

  // Busy, counted, if a job would be refused now.
  base::Result<void> check_room() {
    if (jobs_.refuse_if_full()) return base::fail(busy());
    return {};
  }
  [[nodiscard]] std::size_t depth() const noexcept { return jobs_.depth(); }
  [[nodiscard]] std::size_t capacity() const noexcept { return jobs_.capacity(); }

 private:
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
};

}  // namespace ron::kit
