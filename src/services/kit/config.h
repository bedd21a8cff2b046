// The keys every service has in its section of ron.toml.
#pragma once

#include <string>

#include "base/units.h"
#include "config/key.h"
#include "http/settings.h"

namespace ron::kit {

struct UdsConfig {
  std::string path;             // empty: no Unix socket
  config::TextList allow_uids;  // decimal; empty: the server's own user and root
};

struct TlsConfig {
  std::string cert_path;  // empty, like key_path: plain HTTP
  std::string key_path;

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
};

struct ServiceDefaults {
  std::string bind;
  std::string admin;
};
config::Group<ServiceConfig> service_keys(const ServiceDefaults& defaults);

}  // namespace ron::kit
