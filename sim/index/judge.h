// IndexJudge: whether an answer is one that svc-index may give to this request at this time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "sim/harness/judge.h"
#include "sim/harness/timeline.h"
#include "sim/index/request.h"

namespace ron::sim {

// What was known when a request began.
struct IndexBegun {
  std::uint64_t floor = 0;                         // the newest version of the name that was told
  std::map<std::size_t, std::uint64_t> announced;  // of the address, by node
  // When the first of those was begun that ask for the same and may not be answered yet: who asks
  // meanwhile shares its answer, and its deadline.
  TimePoint shared_since = kNever;
};

class IndexJudge final : public Judge {
 public:
  // What may have been so in this life.
  struct Conditions {
    bool disk_fails = false;
    bool disk_is_slow = false;
    bool others_fail = false;  // those whom the index asks
  };
  IndexJudge(const Exchange& exchange, IndexLedgers& ledgers, IndexBegun begun,
             Conditions conditions)
      : Judge(exchange),
        ledgers_(ledgers),
        begun_(std::move(begun)),
        conditions_(conditions),
        request_(dynamic_cast<const IndexRequest*>(exchange.request)) {}

 private:
  [[nodiscard]] bool has_own_reason(base::Code code) const override;
  Wrong judge_own_refusal(base::Code code) override;
  Wrong judge_success() override;
  [[nodiscard]] bool may_be_unready() const override {
    return conditions_.disk_fails || conditions_.disk_is_slow;
  }

  [[nodiscard]] bool may_not_be_found() const;
  [[nodiscard]] bool took_too_long() const;
  Wrong judge_write();
  Wrong judge_history();
  Wrong judge_list();
  // Of a name at this version with what the JSON says of it.
  Wrong judge_name(std::string_view json, std::string_view key_of_target, std::uint64_t floor);
  Wrong judge_providers();
  NameLedger& names() { return ledgers_.names[request_->about]; }

  IndexLedgers& ledgers_;
  const IndexBegun begun_;
  const Conditions conditions_;
  const IndexRequest* const request_;  // null: the harness's own
};

// The number behind `"key":`, also one in quotes.
std::optional<std::uint64_t> number_in(std::string_view json, std::string_view key);

}  // namespace ron::sim
