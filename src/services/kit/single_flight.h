// SingleFlight: work that several ask for at once is done once, and all of them get what came of
// it.
//
// Whoever needs something joins its flight; the first one hands a job to the workers. The flight
// then belongs to all who wait: whoever leaves takes nothing from the others, and when the last one
// has left nobody waits for the job's reply any more, so that its worker drops it.
//
// Any thread. Bounded by the requests in flight: a flight without anyone who waits is forgotten
// when its job ends.
#pragma once

#include <algorithm>
#include <cstddef>
#include <expected>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.h"
#include "platform/task.h"
#include "runtime/deadline.h"
#include "runtime/lock.h"
#include "runtime/oneshot.h"

namespace ron::kit {

// Outlives the jobs whose replies it made.
template <class Key, class T, class Hash = std::hash<Key>>
class SingleFlight {
  struct Flight;

 public:
  using Answer = base::Result<T>;

  explicit SingleFlight(const runtime::LockDecl& lock) : lock_(lock) {}
  SingleFlight(const SingleFlight&) = delete;
  SingleFlight& operator=(const SingleFlight&) = delete;

  // A place among those who wait for one flight; leaves it when it goes.
  class Waiting {
   public:
    Waiting(std::shared_ptr<Flight> flight, runtime::OneshotReceiver<Answer> answer) noexcept
        : flight_(std::move(flight)), answer_(std::move(answer)) {}

    // Closed: the job went without an answer. Cancel-safe.
    platform::Task<std::expected<Answer, runtime::Waited>> wait(runtime::Deadline deadline) {
      return answer_.recv(deadline);
    }

   private:
    std::shared_ptr<Flight> flight_;
    runtime::OneshotReceiver<Answer> answer_;
  };

  struct Joined {
    Waiting waiting;
    // For the first: the reply of the job that it has to hand to a worker.
    std::optional<runtime::OneshotSender<Answer>> reply;
  };
  Joined join(const Key& key) { return *try_join(key, std::numeric_limits<std::size_t>::max()); }
  // Nothing when `most` wait for it already.
  std::optional<Joined> try_join(const Key& key, std::size_t most) {
    auto [sender, receiver] = runtime::oneshot<Answer>();
    std::optional<runtime::OneshotSender<Answer>> reply;
    std::shared_ptr<Flight> flight;
    {
      const std::lock_guard guard(lock_);
      std::weak_ptr<Flight>& known = flights_[key];
      flight = known.lock();
      if (!flight) {
        auto [of_job, job] = runtime::oneshot<Answer>();
        flight = std::make_shared<Flight>(std::move(job));
        known = flight;
        reply.emplace(std::move(of_job));
        reply->before_delivery(
            [this, key, mine = known](const Answer* answer) { finish(key, mine, answer); });
      }
      // Those who have left make room for those who come.
      if (flight->waiting.size() >= std::min(flight->waiting.capacity(), most)) {
        std::erase_if(flight->waiting, [](const auto& one) { return one.abandoned(); });
      }
      if (flight->waiting.size() >= most) return std::nullopt;
      flight->waiting.push_back(std::move(sender));
    }
    return Joined{Waiting(std::move(flight), std::move(receiver)), std::move(reply)};
  }

 private:
  // Kept by those who wait.
  struct Flight {
    explicit Flight(runtime::OneshotReceiver<Answer> of_job) noexcept : job(std::move(of_job)) {}
    runtime::OneshotReceiver<Answer> job;  // nobody receives: it tells the worker that we are here
    std::vector<runtime::OneshotSender<Answer>> waiting;  // guarded by the table's lock
  };

  // The job has ended; without an answer when its worker went away.
  void finish(const Key& key, const std::weak_ptr<Flight>& flight, const Answer* answer) {
    std::shared_ptr<Flight> ended;
    std::vector<runtime::OneshotSender<Answer>> waiting;
    {
      const std::lock_guard guard(lock_);
      const auto found = flights_.find(key);
      const auto is_this = [&](const std::weak_ptr<Flight>& other) {
        return !flight.owner_before(other) && !other.owner_before(flight);
      };
      if (found != flights_.end() && is_this(found->second)) flights_.erase(found);
      ended = flight.lock();
      if (ended) waiting = std::move(ended->waiting);
    }
    if (answer == nullptr) return;
    for (auto& one : waiting) std::move(one).send(*answer);
  }

  runtime::Lock lock_;
  std::unordered_map<Key, std::weak_ptr<Flight>, Hash> flights_;  // guarded by lock_
};

}  // namespace ron::kit
