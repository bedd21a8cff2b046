#include "services/gateway/routing.h"

#include <algorithm>
#include <utility>

#include "http/field_list.h"

namespace ron::gateway {
namespace {

std::string_view without_port(std::string_view host) noexcept {
  const std::size_t colon = host.rfind(':');
  const bool has_port =
      colon != std::string_view::npos && host.find(']', colon) == std::string_view::npos;
  return has_port ? host.substr(0, colon) : host;
}

// `*.example.org` is every name below example.org.
bool names(std::string_view pattern, std::string_view host) noexcept {
  if (!pattern.starts_with("*.")) return http::iequals(pattern, host);
  const std::string_view parent = pattern.substr(1);
  return host.size() > parent.size() &&
         http::iequals(host.substr(host.size() - parent.size()), parent);
}

}  // namespace

bool Routing::answers_to(std::string_view host) const noexcept {
  if (hosts.empty()) return true;
  const std::string_view name = without_port(host);
  return std::ranges::any_of(hosts, [name](const std::string& one) { return names(one, name); });
}

Routing routing_of(const GatewayConfig& config) {
  Routing routing{.table = RouteTable::make(config.effective_routes()).value(),
                  .upstreams = {},
                  .trusted_proxies = AddressBlocks(config.trusted_proxies),
                  .hosts = {config.hosts.begin(), config.hosts.end()},
                  .hsts = {},
                  .deadline = config.upstream.deadline,
                  .keep_host = config.upstream.keep_host};
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(config.hsts_max_age);
  if (config.tls.enabled() && seconds.count() > 0) {
    routing.hsts = "max-age=" + std::to_string(seconds.count());
  }
  return routing;
}

}  // namespace ron::gateway
