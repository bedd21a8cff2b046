// EdgeJudge: whether an answer is one that svc-edge may give to this request at this time. It has
// its own reading of RFC 9111, from what origins noted on the shelf.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "sim/edge/maps.h"
#include "sim/edge/request.h"
#include "sim/edge/shelf.h"
#include "sim/harness/judge.h"
#include "sim/harness/timeline.h"

namespace ron::sim {

// What clients were told, as far as it matters later.
struct EdgeLedger {
  explicit EdgeLedger(std::size_t urls) : tags(urls) {}

  std::vector<std::string> tags;                 // the last that anybody saw, by URL
  std::map<std::string, std::string> given;      // what may not be shared, and whose it is
  std::map<std::string, std::uint64_t> results;  // by X-Cache
};

class EdgeJudge final : public Judge {
 public:
  // What may have been so in this life.
  struct Conditions {
    bool origins_fail = false;
    bool disk_fails = false;
    bool disk_is_slow = false;
    bool disk_has_failed = false;  // in this life or one before: what has rotted stays so
    bool amnesia = false;
    std::size_t peers = 0;  // who may have waited for the same URL at once
  };
  // What there is to be had.
  struct Sources {
    const EdgePlan* plan;
    const Shelf* shelf;
    const Maps* maps;
  };
  EdgeJudge(const Exchange& exchange, Sources sources, EdgeLedger& ledger, Conditions conditions)
      : Judge(exchange),
        plan_(*sources.plan),
        shelf_(*sources.shelf),
        maps_(*sources.maps),
        ledger_(ledger),
        conditions_(conditions),
        request_(dynamic_cast<const EdgeRequest*>(exchange.request)) {}

 private:
  [[nodiscard]] bool has_own_reason(base::Code code) const override;
  Wrong judge_own_refusal(base::Code) override { return std::nullopt; }
  Wrong judge_success() override;
  [[nodiscard]] bool may_be_unready() const override {
    // Packs that are there at the start are looked at first.
    const bool starts = x_.begun <= x_.life->opened + plan_.moment();
    return starts || conditions_.disk_fails || !x_.life->task_failures.empty();
  }

  [[nodiscard]] bool has_reason_for_asset(base::Code code) const;
  [[nodiscard]] bool has_reason_for_map(base::Code code) const;
  // The oldest version of the pack that may still be served; 0: there may be none yet.
  [[nodiscard]] std::uint64_t oldest_map() const;
  [[nodiscard]] Wrong judge_map() const;
  [[nodiscard]] Wrong judge_asset();
  Wrong judge_bytes(const std::string& whole, std::string_view tag) const;
  Wrong judge_part(const std::string& whole, std::string_view tag) const;
  // That it may be used now, by what it says of how it came about.
  [[nodiscard]] Wrong judge_use(std::string_view tag) const;
  [[nodiscard]] bool may_be_hit(const Offer& offer) const;
  [[nodiscard]] bool may_be_stale(const Offer& offer) const;
  [[nodiscard]] bool is_of_now(const Offer& offer) const;
  [[nodiscard]] bool may_have_failed() const;
  // Too many may have waited for the same.
  [[nodiscard]] bool may_be_crowded() const;
  [[nodiscard]] bool is_known_missing() const;
  // Every origin refuses such a request, and only such.
  [[nodiscard]] bool is_odd() const { return request_->language == kOddLanguage; }
  [[nodiscard]] bool was_offline() const;
  // The longest that any settings of the time allow.
  template <class Get>
  [[nodiscard]] Duration longest(Get get) const;

  const EdgePlan& plan_;
  const Shelf& shelf_;
  const Maps& maps_;
  EdgeLedger& ledger_;
  const Conditions conditions_;
  const EdgeRequest* const request_;  // null: the harness's own
};

}  // namespace ron::sim
