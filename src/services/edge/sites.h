// Sites: trees under names in URLs, each as it is now.
//
// A site is a snapshot that is swapped whole: an answer is made of the one it began with, and a
// name that moves switches the site from one tree to the next between two requests. What has been
// shown is shown on when its name goes away or its next tree cannot be read.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/object_id.h"
#include "base/result.h"
#include "base/ulid.h"
#include "platform/task.h"
#include "runtime/deadline.h"
#include "runtime/lock.h"
#include "runtime/meter.h"
#include "runtime/shutdown.h"
#include "services/edge/book.h"
#include "services/edge/origin.h"
#include "services/edge/parts.h"
#include "services/edge/site_check.h"
#include "services/edge/site_tree.h"
#include "services/kit/work_queue.h"

namespace ron::edge {

struct Site {
  std::string name{};
  std::string target{};   // as it was given: a name, perhaps at a version, or an address
  bool is_added = false;  // while running, and kept in the book; else it is in ron.toml
  bool is_fixed = false;  // the target is an address or a version: what a path shows never changes
  SiteTreePtr tree{};     // null: there is nothing to show yet
  base::ObjectId address{};
  std::uint64_t version = 0;           // of the name; 0 for an address
  std::uint64_t generation = 0;        // of the memory tier: one for each tree
  std::optional<base::Error> error{};  // why this is not what the target is now
  bool is_unanswered = false;          // that is the origin's fault, and not the target's
  MissingFiles missing{};              // of the tree, as of its last check
};
using SitePtr = std::shared_ptr<const Site>;
using SiteTable = std::map<std::string, SitePtr, std::less<>>;

// What a change came to.
struct SiteChange {
  SitePtr site;  // as it is now, or was before it was removed
  bool is_new = false;
};

// A change on its way to the site-keeper.
struct SiteJob : kit::JobBase<SiteChange> {
  // It is done even if nobody waits for it any more: half a change is none of ours.
  static constexpr bool kUnwatched = true;
  std::string name;
  std::optional<std::string> target;  // nothing: it is to be removed
  Operator by;
};
using SiteJobs = kit::WorkQueue<std::variant<SiteJob>>;

class SiteKeeper;

// Made and opened on cores[0]; asked on any core.
class Sites {
 public:
  // Of the trees of all sites together, in memory.
  static constexpr std::uint64_t kMostTreeBytes = 512 * base::kMiB;

  explicit Sites(EdgeParts parts);
  Sites(const Sites&) = delete;
  Sites& operator=(const Sites&) = delete;
  ~Sites();

  // Before open(): the index and the storage of this process, which outlive it.
  void use(index_api::IndexApi& index) noexcept { index_ = &index; }
  void use(storage_api::StorageApi& storage) noexcept { storage_ = &storage; }

  // Before listeners and tasks. Not cancel-safe.
  platform::Task<base::Result<>> open();
  // On cores[0], at the start and after a reload.
  void apply(const EdgeConfig& config);

  // null: there is no such site.
  [[nodiscard]] SitePtr find(std::string_view name) const;
  [[nodiscard]] std::shared_ptr<const SiteTable> all() const;
  // Where the files of a site with a tree come from.
  [[nodiscard]] Origin& origin() const noexcept { return *origin_; }
  [[nodiscard]] EdgeParts& parts() noexcept { return parts_; }

  // Adds a site, or gives one that was added another target, once its tree has been read. Durable
  // when it returns. NotFound and Malformed when the target is no tree, NotAllowed for a site of
  // ron.toml, Degraded without an origin, Busy. Cancel-safe: an aborted change may happen.
  platform::Task<base::Result<SiteChange>> add(std::string name, std::string target, Operator by,
                                               runtime::Deadline deadline);
  // NotFound, NotAllowed and Busy. Cancel-safe, as above.
  platform::Task<base::Result<SiteChange>> remove(std::string name, Operator by,
                                                  runtime::Deadline deadline);

  // How many files each site misses, of those that miss some.
  [[nodiscard]] runtime::Meters::Levels missing_files() const;
  // What readiness misses for the sites there are; nothing when there are none.
  [[nodiscard]] std::vector<std::string> missing() const;

  // Bodies of tasks: the site-keeper, and a core's connections.
  platform::Task<void> keep(runtime::Shutdown shutdown);
  platform::Task<void> dial(std::size_t core, runtime::Shutdown shutdown);

  // By the site-keeper, on cores[0]: shows a site as it is from now on, or no more.
  void show(Site site);
  void hide(const std::string& name);
  void has_looked() noexcept { has_looked_.store(true, std::memory_order_relaxed); }

 private:
  platform::Task<base::Result<>> make_origin();
  void set_table(std::shared_ptr<const SiteTable> next);

  EdgeParts parts_;
  index_api::IndexApi* index_ = nullptr;
  storage_api::StorageApi* storage_ = nullptr;
  std::unique_ptr<Origin> origin_;  // null: there is none
  Book book_;
  SiteJobs jobs_;
  std::atomic<bool> has_looked_ = false;  // every site's target, once
  mutable runtime::Lock lock_;
  std::shared_ptr<const SiteTable> table_;  // guarded by lock_
  std::unique_ptr<SiteKeeper> keeper_;
};

}  // namespace ron::edge
