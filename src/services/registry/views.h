// Views: what readers see: HEAD, its state and the pending proposals, all of it durable.
//
// The committer publishes, any core reads. A reader that was told of a version sees it, on whatever
// core it asks: publishing comes before the answer.
#pragma once

#include <atomic>
#include <cstdint>
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
  [[nodiscard]] std::optional<Proposal> proposal(std::string_view id) const;
  [[nodiscard]] Pending pending() const;
  [[nodiscard]] std::size_t pending_count() const;
  [[nodiscard]] chain::DescriptorPtr descriptor(std::string_view key) const;
  // All of it as of one version; cheap as far as descriptors are shared.
  [[nodiscard]] chain::State state() const;
  [[nodiscard]] chain::Governance governance() const;
  // What `ask` makes of the state, which it must not keep. It may not wait.
  template <class Ask>
  auto with_state(const Ask& ask) const {
    const std::lock_guard lock(lock_);
    return ask(state_);
  }

  // The committer alone: nobody else changes what these show.
  [[nodiscard]] const chain::State& durable_state() const noexcept { return state_; }
  [[nodiscard]] const Pending& durable_pending() const noexcept { return pending_; }

 private:
  mutable runtime::Lock lock_;
  chain::State state_;
  Pending pending_;
  HeadPtr head_;
};

}  // namespace ron::registry
