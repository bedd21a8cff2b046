// The keys every service has in its section of ron.toml.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "base/units.h"
#include "config/key.h"
#include "http/settings.h"
#include "runtime/topology.h"

namespace ron::kit {

struct UdsConfig {
  std::string path;             // empty: no Unix socket
  config::TextList allow_uids;  // decimal; empty: the server's own user and root
};

struct TlsConfig {
  std::string cert_path;  // empty, like key_path: plain HTTP
  std::string key_path;
  std::string ca_path;  // whom it trusts when it calls others; empty: whom the system trusts

  [[nodiscard]] bool enabled() const noexcept { return !cert_path.empty(); }
};

// A service's own configuration is derived from this.
struct ServiceConfig {
  config::Address bind;
  config::Address admin;
  UdsConfig uds;
  TlsConfig tls;
  http::ServerSettings server;
  base::Duration drain_deadline{};
  bool amnesia = false;
};

struct ServiceDefaults {
  std::string bind;
  std::string admin;
};
config::Group<ServiceConfig> service_keys(const ServiceDefaults& defaults);

// The key that overrides the declared capacity of a channel.
template <class C>
config::Key<C> capacity_key(const runtime::ChannelDecl& channel, std::uint64_t C::* capacity,
                            std::string help) {
  return config::count_key(std::string(channel.config_key), capacity,
                           std::to_string(channel.capacity), {.min = "1", .max = "65536"},
                           config::Reload::Restart, std::move(help));
}

}  // namespace ron::kit
