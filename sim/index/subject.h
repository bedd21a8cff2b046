// IndexSubject: svc-index as the simulation sees it, with proxies of a DHT and two other indexes on
// machines of their own.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "services/index/service.h"
#include "sim/harness/faulty_disk.h"
#include "sim/harness/subject.h"
#include "sim/index/judge.h"
#include "sim/index/peer.h"
#include "sim/index/plan.h"
#include "sim/index/plant.h"
#include "sim/index/proxy.h"
#include "sim/index/records.h"
#include "sim/index/request.h"

namespace ron::sim {

// The seed's subject; an unknown or empty name plants nothing.
std::unique_ptr<Subject> make_index_subject(std::uint64_t seed, std::string_view plant);

class IndexSubject final : public Subject {
 public:
  IndexSubject(IndexPlan plan, IndexPlant plant);
  ~IndexSubject() override;

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
  void leave() override;
  [[nodiscard]] Duration longest_queue(const config::Config& config) const override;

  std::unique_ptr<Caller> make_caller(Dice dice) override;
  std::optional<std::size_t> begin(const Request& request, unsigned life) override;
  Judgement answered(const Exchange& exchange) override;
  void unanswered(const Exchange&, bool) override {}
  void life_ended(unsigned) override { resolving_.clear(); }

  Task<void> audit(Talk* talk) override;
  [[nodiscard]] std::optional<std::string> verdict() const override { return std::nullopt; }
  void count(Tally& tally) const override;

 private:
  class Session;
  void plan_outages();
  void happen(const IndexOutage& outage);
  void revive(std::size_t peer);
  void part(std::size_t helper, Duration lasts);

  const IndexPlan plan_;
  const IndexPlant plant_;
  Scene* scene_ = nullptr;
  std::shared_ptr<const auth::Keyring> keyring_;
  std::string token_;
  IndexLedgers ledgers_;
  IndexRequestMaker maker_;
  std::optional<Records> records_;
  std::vector<std::unique_ptr<Proxy>> proxies_;
  std::vector<std::unique_ptr<Peer>> peers_;
  std::vector<IndexBegun> begun_;
  std::map<std::string, std::map<std::size_t, TimePoint>> resolving_;  // by key and operation
  std::optional<FaultyDisk> disk_;
  std::vector<std::unique_ptr<WatchedRoutes>> routes_;  // of each life
  Dice mischief_;
  bool calm_ = false;
  std::set<unsigned> disk_failed_in_;  // lives; an answer of one may be on its way beyond its end
  std::uint64_t checked_ = 0;
};

}  // namespace ron::sim
