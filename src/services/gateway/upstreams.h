// Upstreams: everyone requests may go to, by the rows of the configuration. What stays the same
// over a reload stays as it is: its connections, its breakers, its place in the fair queue.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "http/upstream_group.h"
#include "platform/random.h"
#include "runtime/lock.h"
#include "runtime/meter.h"
#include "services/gateway/config.h"
#include "services/gateway/events.h"
#include "services/gateway/http_upstream.h"
#include "services/gateway/route_table.h"
#include "services/gateway/upstream.h"
#include "services/gateway/wires.h"
#include "services/kit/service.h"

namespace ron::gateway {

class Upstreams {
 public:
  // Rows of the configuration, and so distinct upstreams.
  static constexpr std::size_t kMost = 64;

  Upstreams(runtime::Meters& meters, platform::Random& random, http::UpstreamPolicy policy)
      : meters_(meters), random_(random), policy_(std::move(policy)) {}

  // Before the first make().
  void add_neighbour(kit::Service& service);

  // Those of the table, in its order. On cores[0].
  std::vector<std::shared_ptr<Upstream>> make(const RouteTable& table);

  // The groups in use. Any core.
  [[nodiscard]] std::vector<std::shared_ptr<HttpUpstream>> groups() const;
  // A member, or all of a group, is given nothing new, or is given something again. NotFound when
  // nobody has the name.
  base::Result<> set_drained(std::string_view name, bool drained);

 private:
  struct Known {
    UpstreamPlan plan;
    std::shared_ptr<Upstream> upstream;
    std::shared_ptr<HttpUpstream> group;  // the same, if it is one
  };
  [[nodiscard]] Known make_one(const UpstreamPlan& plan, std::size_t lane) const;

  runtime::Meters& meters_;
  platform::Random& random_;
  const http::UpstreamPolicy policy_;
  std::map<std::string, kit::Service*, std::less<>> neighbours_;
  mutable runtime::Lock lock_{kUpstreamsLock};
  std::vector<Known> known_;  // guarded by lock_; as the table's
};

// Who was how when it was last looked at, and what has changed since then.
using MemberStates = std::map<std::string, http::UpstreamState>;
std::vector<GatewayEvent> note_members(const Upstreams& upstreams, MemberStates& states);

// What the keys say about repeating, breaking and ejecting.
http::UpstreamPolicy policy_of(const GatewayConfig& config);

}  // namespace ron::gateway
