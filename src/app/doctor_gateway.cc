#include "app/doctor_gateway.h"

#include <set>

#include "services/gateway/config.h"

namespace ron::app {
namespace {

using Level = Finding::Level;

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
  const std::uint64_t needed = descriptors_needed(*settings, cores);
  const std::string text = std::to_string(machine.open_files) + " allowed, " +
                           std::to_string(needed) + " needed by the gateway at its limits";
  if (machine.open_files >= needed) {
    out.push_back({Level::Ok, "open files", text});
  } else {
    out.push_back({Level::Warn, "open files", text,
                   "lower gateway.max_conns or gateway.upstream.max_connections, or raise the hard "
                   "limit of open files"});
  }
}

}  // namespace ron::app
