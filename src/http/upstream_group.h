// UpstreamGroup: servers that are as good as each other, and the choice among them.
//
//   UpstreamGroup group("api", std::move(members), policy, meters, random);
//   auto answer = co_await group.send(&client, {.target = "/o/" + address}, deadline);
//
// A request goes to the member with the fewest in flight of those that are not drained, not down by
// their probes, not ejected and admitted by their circuit breaker; equals take turns. At most half
// of the members are ejected at once, and where only ejected ones are left they are used all the
// same. A request that failed is sent again, to another member if there is one, after a wait with
// jitter, if that does nothing twice that must be done once (SendProgress), the deadline leaves
// room and the group's retry budget has a token. It is sent max_tries times at most, what the
// client sends again on a stale connection included. An answer is never asked for again: 502, 503
// and 504 are failures of the member, and are handed through.
//
// Only what a member did with the time it has counts against it: AnswerTime::within, and the
// client's own timeouts. A half-open breaker does not wait for a request's body.
//
// The members are fixed. Shared by all cores: any thread, each with a client of its own; the way of
// a request takes no lock but the breaker's. Outlives its requests and their answers; the
// destructor asserts that.
//
// Errors, besides those of Client: BreakerOpen (a breaker refuses and no other member is left),
// Degraded (all are drained), UpstreamFail (none is healthy).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "http/client.h"
#include "http/client_request.h"
#include "http/client_response.h"
#include "http/upstream_address.h"
#include "http/upstream_attempt.h"
#include "http/upstream_member.h"
#include "http/upstream_policy.h"
#include "platform/executor.h"
#include "platform/random.h"
#include "platform/task.h"
#include "runtime/deadline.h"
#include "runtime/meter.h"
#include "runtime/retry.h"

namespace ron::http {

class UpstreamGroup {
 public:
  static constexpr std::size_t kMembers = 32;  // at most; at least one

  struct Member {
    std::string name;  // in metrics, messages and the operator's page
    UpstreamAddress address;
  };
  UpstreamGroup(std::string name, std::vector<Member> members, UpstreamPolicy policy,
                runtime::Meters& meters, platform::Random& random);
  UpstreamGroup(const UpstreamGroup&) = delete;
  UpstreamGroup& operator=(const UpstreamGroup&) = delete;
  ~UpstreamGroup();

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] const UpstreamPolicy& policy() const noexcept { return policy_; }

  // As Client::send, to a member of the group: where the request goes is set here, and its host if
  // that is empty. Views in `request` must outlive the task. Cancel-safe: an aborted request is
  // neither good nor bad for its member, and neither is one whose deadline passes before the member
  // had its time.
  platform::Task<base::Result<ClientResponse>> send(Client* client, ClientRequest request,
                                                    runtime::Deadline deadline,
                                                    AnswerTime time = {});

  // The choice alone, for one that is sent by other means. `tried` has the bits of the positions of
  // members that are to be avoided if there are others.
  using Positions = std::uint32_t;
  [[nodiscard]] base::Result<UpstreamAttempt> choose(platform::TimePoint now, Positions tried = 0);

  // One round of health probes over all members at once: within policy().probe.timeout. `client`
  // had better be one that only probes: a probe that stands in line behind requests is taken for a
  // failure. One round at a time. Cancel-safe.
  platform::Task<void> probe(Client* client);

  // Requests under way go on, new ones go elsewhere. False: there is no such member.
  bool set_drained(std::string_view member, bool drained) noexcept;
  void set_all_drained(bool drained) noexcept;

  [[nodiscard]] std::vector<UpstreamStatus> status(platform::TimePoint now) const;

 private:
  static_assert(kMembers <= 8 * sizeof(Positions));

  [[nodiscard]] UpstreamMember& least_busy(Positions among) noexcept;
  base::Result<UpstreamAttempt> refuse(Positions usable, platform::TimePoint now);
  // How often a request was tried, and how often it was sent: once more on a stale connection.
  struct Tries {
    std::uint32_t begun = 0;
    std::uint32_t sent = 0;
  };
  runtime::Deadline schedule_retry(const base::Error& error, const ClientRequest& request,
                                   Tries tries, runtime::Deadline deadline, UpstreamMember& member);
  platform::Task<bool> probe_member(Client* client, UpstreamMember* member);

  const std::string name_;
  const UpstreamPolicy policy_;
  EjectionPlaces ejection_places_;
  runtime::RetryBudget budget_;
  runtime::Counter& retries_;
  std::vector<std::unique_ptr<UpstreamMember>> members_;
  std::atomic<std::uint64_t> jitter_seed_;  // another one for each wait
  std::atomic<std::uint32_t> turn_{0};      // among equals
};

}  // namespace ron::http
