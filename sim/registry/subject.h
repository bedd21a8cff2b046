// RegistrySubject: svc-registry as the simulation sees it, on a disk that loses power, fails, is
// slow or full, with a clock that is set.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "services/registry/service.h"
#include "sim/harness/faulty_disk.h"
#include "sim/harness/subject.h"
#include "sim/registry/follower.h"
#include "sim/registry/judge.h"
#include "sim/registry/ledger.h"
#include "sim/registry/plan.h"
#include "sim/registry/plant.h"
#include "sim/registry/planted_disk.h"
#include "sim/registry/request.h"

namespace ron::sim {

// The seed's subject; an unknown or empty name plants nothing.
std::unique_ptr<Subject> make_registry_subject(std::uint64_t seed, std::string_view plant);

class RegistrySubject final : public Subject {
 public:
  RegistrySubject(RegistryPlan plan, RegistryPlant plant);
  ~RegistrySubject() override;

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
  [[nodiscard]] Duration recovery() const override { return std::chrono::seconds(40); }
  std::optional<std::string> look() override;
  [[nodiscard]] Duration longest_queue(const config::Config&) const override { return {}; }

  std::unique_ptr<Caller> make_caller(Dice dice) override;
  std::optional<std::size_t> begin(const Request& request, unsigned life) override;
  Judgement answered(const Exchange& exchange) override;
  void unanswered(const Exchange& exchange, bool may_happen) override;
  void life_ended(unsigned) override;
  void leave() override;

  Task<void> audit(Talk* talk) override;
  [[nodiscard]] std::optional<std::string> verdict() const override { return std::nullopt; }
  void count(Tally& tally) const override;

 private:
  class Session;
  void disk_fails();
  void repair_disk();
  void invite_followers();
  [[nodiscard]] std::size_t any_signer(Dice& dice, const Flow& flow) const;
  void learn(const RegistryRequest& request, const Answer& answer);

  const RegistryPlan plan_;
  const RegistryPlant plant_;
  Scene* scene_ = nullptr;
  std::shared_ptr<const auth::Keyring> keyring_;
  std::string token_;
  RegistryRequestMaker maker_;
  Ledger ledger_;
  std::vector<Begun> begun_;
  std::optional<FaultyDisk> faulty_;
  std::optional<PlantedDisk> disk_;
  registry::Service* service_ = nullptr;
  Dice mischief_;
  bool calm_ = false;
  std::set<unsigned> disk_failed_in_;  // lives; an answer of one may be on its way beyond its end
  std::uint64_t seen_ = 0;             // the newest HEAD that was published
  std::uint64_t committed_ = 0;
  std::uint64_t rotated_ = 0;
  std::uint64_t withdrawn_ = 0;
  std::uint64_t checked_ = 0;
  std::uint64_t first_ = 0;
  std::uint64_t changes_ = 0;  // that followers saw
  std::uint64_t stream_events_ = 0;
  std::uint64_t stream_gaps_ = 0;
  std::optional<ApiFollower> follower_;
  std::optional<StreamReader> reader_;
};

}  // namespace ron::sim
