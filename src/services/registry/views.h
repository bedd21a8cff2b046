// Views: what readers see: HEAD, its state and the pending proposals, all of it durable.
//
// The committer publishes, any core reads. A reader that was told of a version sees it, on whatever
// core it asks: publishing comes before the answer. State and proposals are immutable and shared by
// pointer: the lock is held for as long as it takes to copy pointers.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chain/state.h"
#include "runtime/lock.h"
#include "services/registry/proposal.h"

namespace ron::registry {

// HEAD, rendered once for all who ask.
struct HeadView {
  chain::Head head;
  std::string header_lines;
  std::string etag;  // with its quotes
  std::string json;
};
using HeadPtr = std::shared_ptr<const HeadView>;
using StatePtr = std::shared_ptr<const chain::State>;

// A version as the committer made it.
struct Version {
  chain::Entry entry;
  chain::Payload payload;
  std::string bytes;
  base::ObjectId hash;
};

class Views {
 public:
  Views();

  // The committer, at the start and after a batch. What leaves `pending` is null.
  void start(chain::State state, Pending pending);
  void publish(const std::vector<Version>& versions);
  void publish(const std::vector<std::pair<std::string, std::optional<Proposal>>>& pending);

  // Any core.
  [[nodiscard]] HeadPtr head() const;
  // All of it as of one version.
  [[nodiscard]] StatePtr state() const;
  [[nodiscard]] chain::DescriptorPtr descriptor(std::string_view key) const;
  [[nodiscard]] chain::Governance governance() const { return state()->governance(); }
  // Null: there is none.
  [[nodiscard]] ProposalPtr proposal(std::string_view id) const;
  // The first `most` behind the id `after` that have not expired at `now_ms`, the oldest first.
  [[nodiscard]] std::vector<ProposalPtr> pending_after(std::string_view after, std::size_t most,
                                                       std::int64_t now_ms) const;
  [[nodiscard]] std::size_t pending_count() const;

  // The committer alone: nobody else changes what these show.
  [[nodiscard]] const chain::State& durable_state() const noexcept { return *state_; }
  [[nodiscard]] Pending durable_pending() const;

 private:
  mutable runtime::Lock lock_;
  StatePtr state_;
  std::map<std::string, ProposalPtr, std::less<>> pending_;  // by id, which is by age
  HeadPtr head_;
};

}  // namespace ron::registry
