// SiteKeeper: the one task that changes sites. It knows what is wanted, by ron.toml and by
// operators, looks the names up again and again, reads the tree of one that moved, and switches.
// Now and then it asks whether the files of the trees are stored (site_check.h), one site at a
// time.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "catalog/name.h"
#include "platform/random.h"
#include "platform/task.h"
#include "platform/wait.h"
#include "runtime/background.h"
#include "runtime/permit.h"
#include "runtime/shutdown.h"
#include "services/edge/book.h"
#include "services/edge/origin.h"
#include "services/edge/parts.h"
#include "services/edge/sites.h"

namespace ron::edge {

// All of it outlives the keeper.
struct SiteKeeperParts {
  EdgeParts edge;
  Sites* sites;
  Book* book;
  SiteJobs* jobs;
  Origin* origin;  // null: there is none
};

// On cores[0].
class SiteKeeper {
 public:
  // Look-ups and reads under way at once; a slow one holds up its own site only.
  static constexpr std::size_t kLanes = 8;
  // Manifests of more than base::limits::kDecodedBytes being read at once.
  static constexpr std::size_t kLargeManifests = 2;

  explicit SiteKeeper(SiteKeeperParts parts);

  // The table says which sites there are from now on; what each shows comes later.
  void take_wanted();
  // The first look at what is wanted, as far as it gets until the deadline. Cancel-safe.
  platform::Task<void> look_first(runtime::Deadline deadline);
  // The settings have changed.
  void wake() noexcept {
    has_news_ = true;
    wake_.set();
  }
  // The body of the task. Cancel-safe: what was being read is dropped.
  platform::Task<void> run(runtime::Shutdown shutdown);

 private:
  // A site that is followed.
  struct Followed {
    std::string target;
    bool is_added = false;
    std::uint64_t serial = 0;  // another one when its target changes
    SitePtr shown{};           // as it is in the table
    std::uint32_t failures = 0;
    bool is_looked_at = false;  // once
    platform::TimePoint due{};
    SiteTreePtr checked{};  // the tree whose files were checked last
    platform::TimePoint check_due{};
  };
  // What a target was found to be.
  struct Draft {
    base::ObjectId address;
    std::uint64_t version = 0;
    SiteTreePtr tree;
    std::uint64_t generation = 0;
  };
  struct Due {
    std::string name;
    std::uint64_t serial;
  };
  // A look under way. Dropping it aborts it.
  struct Lane {
    Lane(std::uint64_t own_serial, platform::Task<void> task)
        : serial(own_serial), look(std::move(task)) {}
    const std::uint64_t serial;
    runtime::Background<void> look;
  };
  using Lanes = std::array<std::optional<Lane>, kLanes>;

  void follow(const std::string& name, std::string target, bool is_added);
  // Looks at those whose turn it is, the longest due first, as far as lanes are free. Each that
  // ends wakes the task.
  void start_due(Lanes& lanes);
  // Until there is something to start; none: until a lane ends.
  [[nodiscard]] runtime::Deadline next_due(const Lanes& lanes) const;
  [[nodiscard]] static bool is_under_way(const Lanes& lanes, std::uint64_t serial) noexcept;
  [[nodiscard]] bool are_all_looked_at() const;
  platform::Task<void> run_lane(Due due);
  platform::Task<void> look_at(Due due);

  // The tree of `known` is taken if it is the same.
  platform::Task<base::Result<Draft>> read(std::string target, SitePtr known);
  platform::Task<base::Result<SiteTreePtr>> read_tree(base::ObjectId address);
  [[nodiscard]] base::Result<void> check_room(const std::string& name, const SiteTree& tree) const;

  void succeeded(const std::string& name, Followed& site, Draft draft, const Operator& by);
  void failed(const std::string& name, Followed& site, base::Error error);
  void show(Followed& site, Site next);

  // Whose files are to be checked next, and when; empty: there is no tree.
  [[nodiscard]] std::pair<std::string, platform::TimePoint> next_check() const;
  platform::Task<void> check_sites(runtime::Shutdown shutdown);
  platform::Task<void> check_site(std::string name);

  platform::Task<void> take_jobs(runtime::Shutdown shutdown);
  platform::Task<base::Result<SiteChange>> change(SiteJob* job);
  platform::Task<base::Result<SiteChange>> add(SiteJob* job);
  platform::Task<base::Result<SiteChange>> remove(SiteJob* job);
  [[nodiscard]] bool is_configured(const std::string& name) const;

  void tell(EventKind kind, const std::string& site, std::string detail, std::uint64_t bytes,
            const Operator& by = {});

  SiteKeeperParts parts_;
  std::map<std::string, Followed> followed_;
  std::uint64_t last_serial_ = 0;
  platform::Event wake_;
  platform::Event check_wake_;
  bool has_news_ = true;  // of what is wanted
  // The auditor starts as this task does: what the first look came to, one for each site, waits.
  bool is_heard_ = false;
  std::vector<EdgeEvent> untold_;
  runtime::Semaphore large_manifests_{kLargeManifests};
  platform::FastRandom jitter_;
};

}  // namespace ron::edge
