#include "app/doctor_gateway.h"

#include <set>

#include "services/gateway/config.h"

namespace ron::app {
namespace {

// Listeners, logs, the timer, the ring: what is open besides connections.
constexpr std::uint64_t kBesides = 64;

// The most connections it has at once: its clients', and to each server behind it from each core.
std::uint64_t descriptors_needed(const gateway::GatewayConfig& config, std::size_t cores) {
  std::set<std::string> servers;
  for (const gateway::RouteConfig& route : config.effective_routes()) {
    for (const std::string& url : route.upstream) {
      if (!url.starts_with("inproc:")) servers.insert(url);
    }
  }
  return config.server.max_conns + servers.size() * cores * config.upstream.max_connections +
         kBesides;
}

}  // namespace

void examine_gateway_files(const config::Config&, const std::string&, Findings&) {}

void judge_gateway(const config::Config& config, const platform::posix::Machine& machine,
                   std::size_t cores, Findings& out) {
  const auto settings = config.get(gateway::gateway_section());
  judge_open_files(machine, descriptors_needed(*settings, cores), "the gateway",
                   "lower gateway.max_conns or gateway.upstream.max_connections", out);
}

std::vector<kit::Addend> budget_gateway(const config::Config& config, const kit::ServiceConfig*,
                                        std::size_t cores) {
  return kit::listener_budget("gateway", *config.get(gateway::gateway_section()), cores);
}

}  // namespace ron::app
