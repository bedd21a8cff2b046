// Live services expose the metrics that are declared, and no others.
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "app/keys.h"
#include "app/reference.h"
#include "app/schema.h"
#include "app/services.h"
#include "platform/sim/world.h"
#include "platform/test_support.h"
#include "services/kit/capability_gate.h"

namespace ron {
namespace {

using namespace std::chrono_literals;

using Names = std::set<std::string_view>;

// Appear with their first count, or only where storage has an index to tell, or the index a DHT to
// ask.
const Names kOnFirstUse = {"blocking_jobs_left_total",
                           "blocking_jobs_overdue",
                           "http_requests_total",
                           "storage_reload_fail_total",
                           "registry_reload_fail_total",
                           "index_reload_fail_total",
                           "edge_reload_fail_total",
                           "gateway_reload_fail_total",
                           "index_values_skipped_total",
                           "storage_announce_backlog",
                           "storage_announce_failures_total",
                           "storage_announce_lag_seconds",
                           "storage_announce_stale_total",
                           "storage_announce_wait_seconds",
                           "storage_announced_total",
                           "storage_withdrawals_lost_total",
                           "storage_withdrawn_total"};

// Every service, started and stopped on a simulated machine, as far as a metric can tell.
class LiveServices {
 public:
  LiveServices() : logs_({.unix_ms = [this] { return world_.unix_ms(); }}) {
    config::Inputs inputs;
    inputs.flags = {"storage.amnesia=true", "registry.amnesia=true", "index.amnesia=true",
                    "edge.amnesia=true"};
    // Those they ask have metrics of their own.
    inputs.file_name = "ron.toml";
    inputs.file_text =
        "[[gateway.routes]]\nprefix = \"/\"\nupstream = \"http://127.0.0.1:1\"\n"
        "[index]\npeers = [\"http://127.0.0.1:1\"]\n";
    config_ = config::load(app::schema(), inputs).value();
    keyring_ = app::load_keyring(*config_->get(kit::auth_section()), node_.host().random,
                                 world_.unix_ms() / 1000)
                   .value();
    const platform::test::Root life(node_.core(), live());
    EXPECT_EQ(world_.run_until([&] { return life.done(); }, 1min), platform::sim::Outcome::Done);
    service_.reset();
  }
  [[nodiscard]] const Names& exposed() const noexcept { return exposed_; }

 private:
  platform::Task<void> live() {
    for (const app::ServiceEntry& entry : app::services()) {
      service_ = entry.kind->make({.host = node_.host(),
                                   .config = config_,
                                   .credentials = {keyring_, nullptr},
                                   .logs = &logs_,
                                   .access = &logs_},
                                  "");
      const auto started = co_await service_->start();
      EXPECT_TRUE(started) << started.error().message;
      for (const runtime::FamilyReading& family : service_->meters().collect()) {
        exposed_.insert(family.decl->name);
      }
      co_await service_->stop();
    }
  }

  platform::sim::World world_{1};
  platform::sim::Node& node_ = world_.add_node({.cores = 2});
  observe::LogHub logs_;
  std::shared_ptr<const config::Config> config_;
  std::shared_ptr<const auth::Keyring> keyring_;
  std::unique_ptr<kit::Service> service_;
  Names exposed_;
};

Names declared() {
  Names names;
  for (const runtime::MetricDecl* decl : app::declared_metrics()) names.insert(decl->name);
  return names;
}

TEST(Metrics, AreDeclaredOnce) { EXPECT_EQ(declared().size(), app::declared_metrics().size()); }

TEST(Metrics, EveryExposedOneIsDeclared) {
  const Names known = declared();
  for (const std::string_view name : LiveServices().exposed()) {
    EXPECT_TRUE(known.contains(name)) << name << ": add its list to app::declared_metrics()";
  }
}

TEST(Metrics, EveryDeclaredOneIsExposedOrSaidNotToBe) {
  const LiveServices live;
  for (const std::string_view name : declared()) {
    EXPECT_NE(live.exposed().contains(name), kOnFirstUse.contains(name)) << name;
  }
}

}  // namespace
}  // namespace ron
