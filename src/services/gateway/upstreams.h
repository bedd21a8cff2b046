// Upstreams: everyone requests may go to, by the rows of the configuration. What stays the same over
// a reload stays as it is: its connections, its breakers, its place in the fair queue.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "http/client.h"
#include "http/upstream_group.h"
#include "platform/random.h"
#include "runtime/meter.h"
#include "services/gateway/config.h"
#include "services/gateway/http_upstream.h"
#include "services/gateway/route_table.h"
#include "services/gateway/upstream.h"
#include "services/kit/service.h"

namespace ron::gateway {

class Upstreams {
 public:
  // Rows of the configuration, and so distinct upstreams.
  static constexpr std::size_t kMost = 64;

  Upstreams(runtime::Meters& meters, platform::Random& random, http::UpstreamPolicy policy)
      : meters_(meters), random_(random), policy_(std::move(policy)) {}

  void add_neighbour(kit::Service& service);

  // Those of the table, in its order. `client_here` gives the client of the calling core. On
  // cores[0].
  std::vector<std::shared_ptr<Upstream>> make(const RouteTable& table, ClientHere client_here);

  // The groups in use. Any core.
  [[nodiscard]] std::vector<std::shared_ptr<HttpUpstream>> groups() const;
  // A member, or all of a group, is given nothing new, or is given something again. NotFound names
  // what there is.
  base::Result<> set_drained(std::string_view name, bool drained);

 private:
  [[nodiscard]] std::shared_ptr<Upstream> make_one(const UpstreamPlan& plan, std::size_t lane,
                                                   const ClientHere& client_here);
  [[nodiscard]] std::size_t free_lane(const std::vector<std::shared_ptr<Upstream>>& taken) const;

  runtime::Meters& meters_;
  platform::Random& random_;
  const http::UpstreamPolicy policy_;
  std::map<std::string, kit::Service*, std::less<>> neighbours_;
  struct Known {
    UpstreamPlan plan;
    std::shared_ptr<Upstream> upstream;
  };
  mutable std::mutex mutex_;
  std::vector<Known> known_;  // guarded by mutex_
};

}  // namespace ron::gateway
