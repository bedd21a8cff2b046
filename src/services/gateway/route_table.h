// RouteTable: which upstream a path belongs to, by its longest prefix.
//
// Immutable; a reload makes another one. Prefixes end at segments: `/o` has `/o` and `/o/x` but not
// `/other`.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "services/gateway/config.h"

namespace ron::gateway {

class RouteTable {
 public:
  // Malformed, naming the row, when a prefix is there twice or is not a path in its normal form.
  static base::Result<RouteTable> make(std::vector<RouteConfig> routes);

  // Null: no prefix has it. `path` is decoded and in its normal form.
  [[nodiscard]] const RouteConfig* find(std::string_view path) const noexcept;
  [[nodiscard]] const std::vector<RouteConfig>& routes() const noexcept { return routes_; }

 private:
  explicit RouteTable(std::vector<RouteConfig> routes) : routes_(std::move(routes)) {}

  std::vector<RouteConfig> routes_;  // the longest prefixes first
};

}  // namespace ron::gateway
