// GatewaySubject: svc-gateway as the simulation sees it, with upstreams on machines of their own,
// and at times svc-storage in the same process.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "services/gateway/service.h"
#include "services/storage/service.h"
#include "sim/gateway/book.h"
#include "sim/gateway/judge.h"
#include "sim/gateway/member.h"
#include "sim/gateway/plan.h"
#include "sim/gateway/plant.h"
#include "sim/gateway/request.h"
#include "sim/gateway/witness.h"
#include "sim/harness/subject.h"
#include "sim/harness/task_killer.h"

namespace ron::sim {

// The seed's subject; an unknown or empty name plants nothing.
std::unique_ptr<Subject> make_gateway_subject(std::uint64_t seed, std::string_view plant);

class GatewaySubject final : public Subject {
 public:
  GatewaySubject(GatewayPlan plan, GatewayPlant plant);
  ~GatewaySubject() override;

  [[nodiscard]] const Plan& plan() const noexcept override { return plan_; }
  void enter(Scene& scene) override;

  [[nodiscard]] const config::Schema& schema() const override;
  [[nodiscard]] std::shared_ptr<const kit::ServiceConfig> settings(
      const config::Config& config) const override;
  [[nodiscard]] std::shared_ptr<const auth::Keyring> keyring() const override {
    return passes_.keyring;
  }
  std::unique_ptr<kit::Service> make_service(kit::ServiceParts parts) override;
  std::vector<kit::Service*> neighbours() override;
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
  [[nodiscard]] bool may_cut(const Exchange& exchange) const override;
  void unanswered(const Exchange&, bool) override {}
  void life_ended(unsigned life) override;

  Task<void> audit(Talk* talk) override;
  [[nodiscard]] std::optional<std::string> verdict() const override { return std::nullopt; }
  void count(Tally& tally) const override;

 private:
  class Session;
  void plan_outages();
  void happen(const Outage& outage);

  const GatewayPlan plan_;
  const GatewayPlant plant_;
  Scene* scene_ = nullptr;
  Passes passes_;
  GatewayRequests requests_;
  Book book_;
  std::optional<Witness> witness_;
  std::optional<TaskKiller> killer_;
  Dice killer_dice_;
  std::vector<std::unique_ptr<Member>> members_;
  std::unique_ptr<storage::Service> storage_;
  std::unique_ptr<PlantedCore> core_of_routes_;
  gateway::Core* core_ = nullptr;
  bool calm_ = false;
  std::map<std::pair<unsigned, std::string>, std::uint64_t> by_tenant_;
  std::map<std::pair<unsigned, std::size_t>, TimePoint> stored_;
  std::uint64_t passed_on_ = 0;
};

}  // namespace ron::sim
