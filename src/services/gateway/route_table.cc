#include "services/gateway/route_table.h"

#include <algorithm>
#include <string>
#include <utility>

#include "http/uri.h"

namespace ron::gateway {
namespace {

bool is_normal(std::string_view prefix) {
  if (prefix == "/") return true;
  if (!prefix.starts_with('/') || prefix.ends_with('/')) return false;
  if (prefix.find_first_of("?#") != std::string_view::npos) return false;
  http::UriScratch scratch;
  const auto decoded = http::decode_path(prefix, scratch);
  return decoded && *decoded == prefix;
}

bool covers(std::string_view prefix, std::string_view path) {
  if (prefix == "/") return true;
  return path.starts_with(prefix) && (path.size() == prefix.size() || path[prefix.size()] == '/');
}

}  // namespace

base::Result<RouteTable> RouteTable::make(std::vector<RouteConfig> routes) {
  std::ranges::sort(routes, std::ranges::greater{},
                    [](const RouteConfig& route) { return route.prefix.size(); });
  for (auto route = routes.begin(); route != routes.end(); ++route) {
    if (!is_normal(route->prefix)) {
      return base::fail(base::Code::Malformed,
                        "the prefix '" + route->prefix +
                            "' is not a plain path: begin it with /, end it without");
    }
    const auto same = [&](const RouteConfig& other) { return other.prefix == route->prefix; };
    if (std::any_of(routes.begin(), route, same)) {
      return base::fail(base::Code::Malformed, "the prefix '" + route->prefix + "' is there twice");
    }
  }
  return RouteTable(std::move(routes));
}

const RouteConfig* RouteTable::find(std::string_view path) const noexcept {
  for (const RouteConfig& route : routes_) {
    if (covers(route.prefix, path)) return &route;
  }
  return nullptr;
}

}  // namespace ron::gateway
