// RegistryAuditor: one client that does everything right, in a world without faults or others. All
// that was acknowledged must be there, what is kept of the log must verify from its checkpoint or
// from its beginning to the state that is served, and a new version can be made.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "services/registry/core.h"
#include "sim/harness/talk.h"
#include "sim/registry/ledger.h"
#include "sim/registry/request.h"

namespace ron::sim {

// Lives in the task that runs it.
class RegistryAuditor {
 public:
  RegistryAuditor(Talk* talk, const RegistryRequestMaker* maker, Ledger* ledger,
                  registry::Core* core, std::uint64_t keep);

  Task<void> run();
  [[nodiscard]] std::uint64_t checked() const noexcept { return checked_; }

 private:
  Task<void> check_flows();
  Task<void> check_log();
  Task<base::Result<chain::State>> begin_of_log(std::uint64_t first);
  Task<void> commit_one();
  Task<std::string> ask(Ask what, std::shared_ptr<Flow> flow, std::size_t signer);
  void expect(bool holds, const std::string& what);

  Talk& talk_;
  Scene& scene_;
  const RegistryRequestMaker& maker_;
  Ledger& ledger_;
  registry::Core& core_;
  const std::uint64_t keep_;  // versions at least; 0: all
  Dice dice_;
  std::uint64_t checked_ = 0;
};

}  // namespace ron::sim
