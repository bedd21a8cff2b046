#include "services/kit/config.h"

#include <charconv>

namespace ron::kit {
namespace {

using config::Reload;

bool is_uid(const std::string& text) {
  std::uint32_t uid = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), uid);
  return status == std::errc{} && end == text.data() + text.size();
}

config::Group<UdsConfig> uds_keys() {
  using C = UdsConfig;
  config::Group<C> group{
      config::text_key("path", &C::path, "", {.max = "107"}, Reload::Restart,
                       "listen on this Unix socket, too; its directory must be 0700"),
      config::text_list_key("allow_uids", &C::allow_uids, "[]", {.max = "64"}, Reload::Hot,
                            "users that may connect there; empty: the server's own and root"),
  };
  group.check([](const C& uds, config::Problems& problems) {
    for (const std::string& uid : uds.allow_uids) {
      if (!is_uid(uid)) problems.add("allow_uids", "'" + uid + "' is not the number of a user");
    }
  });
  return group;
}

config::Group<TlsConfig> tls_keys() {
  using C = TlsConfig;
  config::Group<C> group{
      config::text_key("cert_path", &C::cert_path, "", {}, Reload::Hot,
                       "PEM file with the certificate and those that lead to its root; read again "
                       "on SIGHUP"),
      config::text_key("key_path", &C::key_path, "", {}, Reload::Hot,
                       "PEM file with the private key; nobody else may read it"),
      config::text_key("ca_path", &C::ca_path, "", {}, Reload::Restart,
                       "PEM file of those who vouch for servers it calls; empty: the system's"),
  };
  group.check([](const C& tls, config::Problems& problems) {
    if (tls.cert_path.empty() == tls.key_path.empty()) return;
    problems.add(tls.cert_path.empty() ? "cert_path" : "key_path",
                 "is missing: TLS needs both cert_path and key_path");
  });
  return group;
}

}  // namespace

config::Group<ServiceConfig> service_keys(const ServiceDefaults& defaults) {
  using C = ServiceConfig;
  config::Group<C> group{
      config::address_key("bind", &C::bind, defaults.bind, {}, Reload::Rebind,
                          "where clients connect; port 0 picks a free one"),
      config::address_key("admin", &C::admin, defaults.admin, {}, Reload::Rebind,
                          "where operators connect: metrics, topology, configuration"),
  };
  group.include(&C::uds, uds_keys(), "uds.");
  group.include(&C::tls, tls_keys(), "tls.");
  group.include(&C::server, http::server_keys());
  group.add(config::duration_key("drain_deadline", &C::drain_deadline, "3s",
                                 {.min = "10ms", .max = "5m"}, Reload::Hot,
                                 "time for requests in flight to finish after a stop signal"));
  group.add(config::bool_key("amnesia", &C::amnesia, "false", {}, Reload::Restart,
                             "keep everything in memory; not a byte on disk"));
  return group;
}

}  // namespace ron::kit
