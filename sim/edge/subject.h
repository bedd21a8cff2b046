// EdgeSubject: svc-edge as the simulation sees it, with origins on machines of their own.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "platform/tls.h"
#include "services/edge/service.h"
#include "sim/edge/internet.h"
#include "sim/edge/judge.h"
#include "sim/edge/maps.h"
#include "sim/edge/origin.h"
#include "sim/edge/plan.h"
#include "sim/edge/plant.h"
#include "sim/edge/request.h"
#include "sim/edge/shelf.h"
#include "sim/edge/watched_origins.h"
#include "sim/harness/subject.h"
#include "sim/harness/task_killer.h"

namespace ron::sim {

// The seed's subject; an unknown or empty name plants nothing.
std::unique_ptr<Subject> make_edge_subject(std::uint64_t seed, std::string_view plant);

class EdgeSubject final : public Subject {
 public:
  EdgeSubject(EdgePlan plan, EdgePlant plant);
  ~EdgeSubject() override;

  [[nodiscard]] const Plan& plan() const noexcept override { return plan_; }
  void enter(Scene& scene) override;

  [[nodiscard]] const config::Schema& schema() const override;
  [[nodiscard]] std::shared_ptr<const kit::ServiceConfig> settings(
      const config::Config& config) const override;
  [[nodiscard]] std::shared_ptr<const auth::Keyring> keyring() const override { return keyring_; }
  platform::Host host(platform::Host machine) override;
  std::unique_ptr<kit::Service> make_service(kit::ServiceParts parts) override;
  void service_gone() override;
  void fail_task() override;
  void calm_down() override;
  [[nodiscard]] Duration recovery() const override;
  std::optional<std::string> look() override;
  [[nodiscard]] std::optional<Level> level_of(std::string_view detail) const override;
  void leave() override;
  [[nodiscard]] Duration longest_queue(const config::Config& config) const override;

  std::unique_ptr<Caller> make_caller(Dice dice) override;
  std::optional<std::size_t> begin(const Request& request, unsigned life) override;
  Judgement answered(const Exchange& exchange) override;
  void unanswered(const Exchange& exchange, bool) override { ended(exchange); }
  void life_ended(unsigned) override { maps_.interrupt(); }

  Task<void> audit(Talk* talk) override;
  [[nodiscard]] std::optional<std::string> verdict() const override { return std::nullopt; }
  void count(Tally& tally) const override;

 private:
  class Session;
  // A request for an asset, or with the number behind the last for the map, from its first byte to
  // its answer or the end of the wait for it.
  struct Asked {
    std::size_t url;
    TimePoint begun;
    TimePoint ended = platform::kNever;
  };
  void make_origins();
  void plan_outages();
  void happen(const EdgeOutage& outage);
  void ended(const Exchange& exchange);
  void break_disk();
  void mend_disk();
  [[nodiscard]] std::size_t peers_of(const Exchange& exchange) const;
  [[nodiscard]] bool must_share(const edge::FetchRequest& request) const;

  const EdgePlan plan_;
  const EdgePlant plant_;
  Scene* scene_ = nullptr;
  std::shared_ptr<const auth::Keyring> keyring_;
  std::string token_;
  Shelf shelf_;
  Maps maps_;
  EdgeLedger ledger_;
  EdgeRequestMaker maker_;
  std::shared_ptr<const platform::TlsClient> trust_;
  std::vector<std::unique_ptr<Origin>> origins_;
  std::optional<PublicNet> net_;
  std::optional<NameService> names_;
  std::optional<TaskKiller> killer_;
  std::vector<std::unique_ptr<WatchedOrigins>> watches_;  // of each life
  std::vector<std::unique_ptr<PlantedRoutes>> routes_;
  CarelessCopies copies_;
  edge::Service* service_ = nullptr;
  std::vector<Asked> asked_;
  std::set<std::string> alone_;  // correlation ids of requests that share with nobody
  Dice mischief_;
  bool calm_ = false;
  std::set<unsigned> disk_failed_in_;  // lives; an answer of one may be on its way beyond its end
  std::uint64_t checked_ = 0;
};

}  // namespace ron::sim
