// RouteTable: which upstream a path belongs to, by its longest prefix.
//
// Immutable; a reload makes another one. Prefixes end at segments: `/o` has `/o` and `/o/x` but not
// `/other`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "auth/access.h"
#include "base/result.h"
#include "http/head.h"
#include "http/upstream_address.h"
#include "services/gateway/config.h"
#include "services/gateway/drr.h"

namespace ron::gateway {

// Where requests go: a service of this process, or a group of servers.
struct UpstreamPlan {
  std::string name;     // in metrics and for operators: `storage`, `api-v1`
  std::string service;  // `storage`; empty: a group
  std::vector<http::UpstreamAddress> members;
  config::TextList as_given;
};

struct Route {
  std::string prefix;
  std::size_t upstream;   // position in RouteTable::upstreams()
  std::uint32_t methods;  // a bit for each http::Method
  auth::Access write;     // what anything but reading needs
  bool is_open;
  bool is_inline;
  Cost cost;
  base::Duration deadline;
  std::vector<std::string> cors;

  [[nodiscard]] bool allows(http::Method method) const noexcept {
    return ((methods >> static_cast<unsigned>(method)) & 1U) != 0;
  }
  // A page of that origin may use it.
  [[nodiscard]] bool allows_origin(std::string_view origin) const noexcept;
  // `GET, HEAD`, as Allow says it.
  [[nodiscard]] std::string allow() const;
};

class RouteTable {
 public:
  // Malformed names the row and what is wrong with it.
  static base::Result<RouteTable> make(const std::vector<RouteConfig>& rows);

  // Null: no prefix has it. `path` is decoded and in its normal form.
  [[nodiscard]] const Route* find(std::string_view path) const noexcept;
  [[nodiscard]] const std::vector<Route>& routes() const noexcept { return routes_; }
  // Rows with the same list of upstreams share one.
  [[nodiscard]] const std::vector<UpstreamPlan>& upstreams() const noexcept { return upstreams_; }

 private:
  RouteTable() = default;
  base::Result<> add(const RouteConfig& row);
  base::Result<std::size_t> plan(const RouteConfig& row);
  [[nodiscard]] std::string free_name(std::string wanted) const;

  std::vector<Route> routes_;  // the longest prefixes first
  std::vector<UpstreamPlan> upstreams_;
};

}  // namespace ron::gateway
