// GatewayJudge: whether an answer is one that svc-gateway may give to this request at this time.
//
// An answer of an upstream carries its marker, and must be, byte for byte, what that upstream meant
// to answer to this very request. Everything else is the gateway's own and needs a reason: what
// upstreams did, what the witness saw, what the settings of the time allow.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "services/gateway/config.h"
#include "sim/gateway/book.h"
#include "sim/gateway/request.h"
#include "sim/gateway/witness.h"
#include "sim/harness/judge.h"

namespace ron::sim {

// What a judge has to know besides the exchange.
struct GatewayFacts {
  const GatewayPlan& plan;
  const Book& book;
  const Witness& witness;
  // Requests of a tenant in a life; those without a capability together.
  const std::map<std::pair<unsigned, std::string>, std::uint64_t>& by_tenant;
  // When an object was first acknowledged in a life.
  const std::map<std::pair<unsigned, std::size_t>, TimePoint>& stored;
};

class GatewayJudge final : public Judge {
 public:
  // `request` is null for what the harness asks itself.
  GatewayJudge(const Exchange& exchange, const GatewayFacts& facts)
      : Judge(exchange),
        facts_(facts),
        request_(dynamic_cast<const GatewayRequest*>(exchange.request)) {}

 private:
  [[nodiscard]] bool has_own_reason(base::Code code) const override;
  Wrong judge_own_refusal(base::Code code) override;
  Wrong judge_success() override;
  [[nodiscard]] bool is_passed_on() const override;
  [[nodiscard]] bool may_be_unready() const override;

  [[nodiscard]] const GroupPlan& group() const { return facts_.plan.groups[*request_->group]; }
  [[nodiscard]] bool has_upstream_reason(base::Code code) const;
  [[nodiscard]] bool route_may_be_missing() const;
  [[nodiscard]] bool method_may_be_missing() const;
  [[nodiscard]] bool network_may_break() const;
  [[nodiscard]] bool was_troubled() const;
  [[nodiscard]] bool may_have_timed_out() const;
  [[nodiscard]] bool is_over_rate() const;
  [[nodiscard]] bool has_failed_task() const;
  [[nodiscard]] Wrong judge_receipt(base::Code code) const;
  [[nodiscard]] Wrong judge_passed_on() const;
  [[nodiscard]] Wrong judge_object() const;

  const GatewayFacts& facts_;
  const GatewayRequest* request_;
};

}  // namespace ron::sim
