// PackOrders: packs that operators add and remove while the service runs; they are there again
// after a restart.
//
// Requests hand their order to the mounter, which does them one after the other: verifying a large
// pack takes longer than a request may, and what is written to the book must not be cut short by a
// client that leaves.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "platform/task.h"
#include "runtime/deadline.h"
#include "runtime/shutdown.h"
#include "services/edge/book.h"
#include "services/edge/packs.h"
#include "services/edge/parts.h"
#include "services/kit/job.h"
#include "services/kit/work_queue.h"

namespace ron::edge {

struct PackAdded {
  MountPtr mount;
  bool is_new = false;  // nothing was mounted under the name
};
struct AddPackJob : kit::JobBase<PackAdded> {
  MountOrder order;
  Operator by;
};
struct RemovePackJob : kit::JobBase<bool> {
  std::string name;
  Operator by;
};
using PackJob = std::variant<AddPackJob, RemovePackJob>;

// Made and opened on cores[0]; asked on any core. The packs outlive it.
class PackOrders {
 public:
  PackOrders(EdgeParts parts, Packs& packs);
  PackOrders(const PackOrders&) = delete;
  PackOrders& operator=(const PackOrders&) = delete;

  // Reads the book. Not cancel-safe.
  platform::Task<base::Result<>> open();
  // What was added and not removed. On cores[0].
  [[nodiscard]] std::vector<MountOrder> added() const;
  [[nodiscard]] std::optional<MountOrder> find(const std::string& name) const;

  // Verifies a pack and mounts it under a name that is free or was added before. Malformed with the
  // reason, NotFound without the file, NotAllowed for a name of the configuration or of packs_dir,
  // Quota, Busy. Timeout: it goes on without the caller. Cancel-safe.
  platform::Task<base::Result<PackAdded>> add(MountOrder order, Operator by,
                                              runtime::Deadline deadline);
  // NotFound, NotAllowed, Busy, Timeout. Cancel-safe.
  platform::Task<base::Result<>> remove(std::string name, Operator by, runtime::Deadline deadline);

  // The body of the mounter, on cores[0].
  platform::Task<void> work(runtime::Shutdown shutdown);

 private:
  platform::Task<void> run(AddPackJob job, runtime::Shutdown shutdown);
  platform::Task<void> run(RemovePackJob job, runtime::Shutdown shutdown);
  platform::Task<base::Result<PackAdded>> do_add(MountOrder order, Operator by,
                                                 runtime::Shutdown shutdown);
  platform::Task<base::Result<bool>> do_remove(std::string name, Operator by);
  [[nodiscard]] base::Result<> check_free(const std::string& name) const;

  EdgeParts parts_;
  Packs& packs_;
  Book book_;
  kit::WorkQueue<PackJob> queue_;
};

}  // namespace ron::edge
