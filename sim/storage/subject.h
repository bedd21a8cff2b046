// StorageSubject: svc-storage as the simulation sees it, in memory or on a disk that loses power.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "sim/harness/faulty_disk.h"
#include "sim/harness/subject.h"
#include "sim/storage/history.h"
#include "sim/storage/judge.h"
#include "sim/storage/plan.h"
#include "sim/storage/plant.h"
#include "sim/storage/request.h"

namespace ron::sim {

// The seed's subject; an unknown or empty name plants nothing.
std::unique_ptr<Subject> make_storage_subject(std::uint64_t seed, std::string_view plant);

class StorageSubject final : public Subject {
 public:
  StorageSubject(StoragePlan plan, Plant plant);
  ~StorageSubject() override;

  [[nodiscard]] const Plan& plan() const noexcept override { return plan_; }
  void enter(Scene& scene) override;

  [[nodiscard]] const config::Schema& schema() const override;
  [[nodiscard]] std::shared_ptr<const kit::ServiceConfig> settings(
      const config::Config& config) const override;
  [[nodiscard]] std::shared_ptr<const auth::Keyring> keyring() const override {
    return tokens_.keyring;
  }
  platform::Host host(platform::Host machine) override;
  std::unique_ptr<kit::Service> make_service(kit::ServiceParts parts) override;
  void service_gone() override;
  void fail_task() override;
  void calm_down() override;
  [[nodiscard]] Duration longest_queue(const config::Config& config) const override;

  std::unique_ptr<Caller> make_caller(Dice dice) override;
  std::optional<std::size_t> begin(const Request& request, unsigned life) override;
  Judgement answered(const Exchange& exchange) override;
  void unanswered(const Exchange& exchange, bool may_happen) override;
  void life_ended(unsigned life) override { history_.life_ended(life); }

  Task<void> audit(Talk* talk) override;
  [[nodiscard]] std::optional<std::string> verdict() const override { return history_.check(); }
  void count(Tally& tally) const override;

 private:
  class Session;
  void learn(const ObjectRequest& request, const Answer& answer);

  const StoragePlan plan_;
  const Plant plant_;
  Scene* scene_ = nullptr;
  Tokens tokens_;
  RequestMaker maker_;
  History history_;
  std::optional<FaultyDisk> disk_;
  std::unique_ptr<Planted> planted_;
  bool calm_ = false;
  std::uint64_t parts_acknowledged_ = 0;
  std::uint64_t uploads_committed_ = 0;
  std::uint64_t uploads_shown_later_ = 0;  // in a later life than they began
};

}  // namespace ron::sim
