// LoadTable: objects on their way from a volume into memory, each read once for all who wait for
// it.
//
// Whoever needs an object joins its load; the first one hands a job to the workers. The load then
// belongs to all who wait: whoever leaves takes nothing from the others, and when the last one has
// left nobody waits for the job's reply any more, so that its worker drops it.
//
// Any thread. Bounded by the requests in flight: a load without anyone who waits is forgotten when
// its job ends.
#pragma once

#include <expected>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/object_id.h"
#include "base/result.h"
#include "platform/task.h"
#include "runtime/deadline.h"
#include "runtime/lock.h"
#include "runtime/oneshot.h"
#include "services/storage/object.h"
#include "volume/volume.h"

namespace ron::storage {

// Outlives the jobs whose replies it made.
class LoadTable {
  struct Load;

 public:
  using Answer = base::Result<ObjectPtr>;

  LoadTable();
  LoadTable(const LoadTable&) = delete;
  LoadTable& operator=(const LoadTable&) = delete;

  // A place among those who wait for one load; leaves it when it goes.
  class Waiting {
   public:
    Waiting(std::shared_ptr<Load> load, runtime::OneshotReceiver<Answer> answer) noexcept
        : load_(std::move(load)), answer_(std::move(answer)) {}

    // Closed: the job went without an answer. Cancel-safe.
    platform::Task<std::expected<Answer, runtime::Waited>> wait(runtime::Deadline deadline) {
      return answer_.recv(deadline);
    }

   private:
    std::shared_ptr<Load> load_;
    runtime::OneshotReceiver<Answer> answer_;
  };

  struct Joined {
    Waiting waiting;
    // For the first: the reply of the job that it has to hand to a worker.
    std::optional<volume::Reply<ObjectPtr>> reply;
  };
  Joined join(const base::ObjectId& id);

 private:
  // Kept by those who wait.
  struct Load {
    explicit Load(runtime::OneshotReceiver<Answer> of_job) noexcept : job(std::move(of_job)) {}
    runtime::OneshotReceiver<Answer> job;  // nobody receives: it tells the worker that we are here
    std::vector<runtime::OneshotSender<Answer>> waiting;  // guarded by the table's lock
  };

  // The job has ended; without an answer when its worker went away.
  void finish(const base::ObjectId& id, const std::weak_ptr<Load>& load, const Answer* answer);

  runtime::Lock lock_;
  std::unordered_map<base::ObjectId, std::weak_ptr<Load>, base::ObjectIdHash> loads_;  // by lock_
};

}  // namespace ron::storage
