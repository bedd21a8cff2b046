// RegistryJudge: whether an answer is one that svc-registry may give to this request at this time.
#pragma once

#include <string>

#include "sim/harness/judge.h"
#include "sim/registry/ledger.h"
#include "sim/registry/request.h"

namespace ron::sim {

// What was known when a request began.
struct Begun {
  std::uint64_t floor = 0;  // the newest version that anybody had been told of
  bool was_tried = false;   // its signer may have approved before
  bool commit_was_tried = false;
  bool withdraw_was_tried = false;
  bool was_withdrawn = false;  // and a client was told so
};

class RegistryJudge final : public Judge {
 public:
  // What may have been so in this life.
  struct Conditions {
    bool disk_fails = false;
    bool disk_is_slow = false;
    bool prunes = false;
  };
  RegistryJudge(const Exchange& exchange, Ledger& ledger, const Begun& begun,
                const Conditions& conditions)
      : Judge(exchange),
        ledger_(ledger),
        begun_(begun),
        disk_fails_(conditions.disk_fails),
        disk_is_slow_(conditions.disk_is_slow),
        prunes_(conditions.prunes),
        request_(dynamic_cast<const RegistryRequest*>(exchange.request)) {}

 private:
  [[nodiscard]] bool has_own_reason(base::Code code) const override;
  Wrong judge_own_refusal(base::Code) override { return std::nullopt; }
  Wrong judge_success() override;
  [[nodiscard]] bool may_be_unready() const override { return disk_fails_ || disk_is_slow_; }

  Wrong judge_change();
  Wrong judge_head(std::string_view json);
  [[nodiscard]] static bool has_signer(Ask ask) noexcept;
  [[nodiscard]] bool has_approval_reason(base::Code code) const;
  [[nodiscard]] bool has_change_reason(base::Code code) const;

  Ledger& ledger_;
  const Begun begun_;
  const bool disk_fails_;
  const bool disk_is_slow_;
  const bool prunes_;
  const RegistryRequest* const request_;  // null: the harness's own
};

// The number behind `"key":`.
std::optional<std::uint64_t> json_number(std::string_view json, std::string_view key);

}  // namespace ron::sim
