// For the tests of this folder: a store on a simulated machine, used step by step.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "b3/hash.h"
#include "services/index/decide.h"
#include "services/index/names.h"
#include "services/index/store.h"
#include "volume/test_support.h"

namespace ron::index::testing {

inline base::ObjectId address_of(std::string_view text) { return b3::hash(base::as_bytes(text)); }

// Runs a task on the machine to its end; what it returns.
template <class T>
T run(volume::Machine& machine, platform::Task<T> task) {
  struct Keep {
    static platform::Task<void> into(platform::Task<T> task, std::optional<T>* result) {
      T value = co_await task;
      *result = std::move(value);
    }
  };
  std::optional<T> result;
  machine.run(Keep::into(std::move(task), &result));
  return std::move(*result);
}

// One life of the store's process; destroying it is a crash.
class TestStore {
 public:
  explicit TestStore(volume::Machine& machine, bool is_amnesiac = false)
      : machine_(machine),
        store_(machine.node.host(), &machine.node.disk(),
               {.directory = "/index",
                .cache_bytes = base::kMiB,
                .is_amnesiac = is_amnesiac,
                .on_trouble = [](std::string_view) {}}) {}

  base::Result<void> open() { return run(machine_, store_.open()); }
  base::Result<void> commit(std::vector<Store::Changes> all) {
    return run(machine_, store_.commit(std::move(all)));
  }
  base::Result<void> repair() { return run(machine_, store_.repair()); }
  base::Result<void> tidy() { return run(machine_, store_.tidy()); }

  // Decides one job and makes it durable.
  base::Result<NameSet> set(NameVersion wanted, std::optional<std::uint64_t> expected = {},
                            Origin origin = {}, WriteRules rules = {}) {
    SetNameJob job;
    job.wanted = std::move(wanted);
    job.expected = expected;
    job.origin = std::move(origin);
    Draft draft(&store_.map());
    auto set = run(machine_, decide(&draft, &job, rules, ++now_ms));
    if (!set) return set;
    Store::Changes changes = draft.keep_job();
    if (changes.empty()) return set;
    const auto done = commit({std::move(changes)});
    if (!done) return base::fail(done.error());
    return set;
  }
  base::Result<Announced> announce(std::vector<ProviderEntry> providers) {
    AnnounceJob job;
    job.providers = std::move(providers);
    Draft draft(&store_.map());
    auto announced = run(machine_, decide(&draft, &job, now_ms));
    if (!announced) return announced;
    Store::Changes changes = draft.keep_job();
    if (!changes.empty()) EXPECT_TRUE(commit({std::move(changes)}));
    return announced;
  }
  base::Result<std::size_t> prune(std::uint64_t until_ms) {
    PruneJob job;
    job.now_ms = until_ms;
    Draft draft(&store_.map());
    auto gone = run(machine_, decide(&draft, &job, &store_.map()));
    Store::Changes changes = draft.keep_job();
    if (!changes.empty()) EXPECT_TRUE(commit({std::move(changes)}));
    return gone;
  }

  std::optional<NameVersion> name(std::string_view ref) {
    return run(machine_, find_name(&store_.map(), catalog::parse_name_ref(ref).value())).value();
  }
  NamePage list(ListQuery query) {
    return run(machine_, list_names(&store_.map(), std::move(query))).value();
  }
  std::vector<ProviderEntry> providers(const base::ObjectId& address) {
    return run(machine_, find_providers(&store_.map(), address)).value();
  }
  Store& operator*() { return store_; }
  Store* operator->() { return &store_; }

  std::int64_t now_ms = 1'000'000;

 private:
  volume::Machine& machine_;
  Store store_;
};

inline NameVersion named(std::string name, std::string_view target, std::string tenant = "") {
  NameVersion version;
  version.name = std::move(name);
  version.target = address_of(target);
  version.tenant = std::move(tenant);
  return version;
}
inline NameVersion removed(std::string name, std::string tenant = "") {
  NameVersion version;
  version.name = std::move(name);
  version.tenant = std::move(tenant);
  return version;
}

}  // namespace ron::index::testing
