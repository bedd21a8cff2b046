// ServiceKind: what is known of a service before there is one. From this value come its command,
// its section of ron.toml, its place in `ron up` and its part of the reference pages.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "config/load.h"
#include "config/section.h"
#include "observe/log.h"
#include "platform/host.h"
#include "runtime/child.h"
#include "runtime/meter.h"
#include "runtime/topology.h"
#include "services/kit/config.h"
#include "services/kit/life_metrics.h"
#include "services/kit/list.h"
#include "services/kit/service.h"

namespace ron::kit {

// Puts something around the body of a task: a simulation's way to make it fail.
using TaskWrap = std::function<runtime::ChildBody(const runtime::TaskDecl&, runtime::ChildBody)>;

// What a process gives every service. The logs outlive it.
struct ServiceParts {
  platform::Host host;
  std::shared_ptr<const config::Config> config;
  Credentials credentials;
  observe::LogHub* logs;
  observe::LogHub* access = nullptr;  // gets a line per request; outlives it, too
  // False: no listeners of its own; it is reached through another service of the process.
  bool listens = true;
  TaskWrap wrap_task{};  // of each task that the service starts; none: nothing
};

struct ServiceKind {
  std::string_view name;        // `storage`: its command, section and directory
  std::string_view help;        // `objects under /o`
  const runtime::Wires* wires;  // their `service` is the name in logs and metrics: `svc-storage`
  LifeMetrics life;
  std::span<const runtime::MetricDecl* const>
      metrics;                               // only this service has, its life's included
  std::span<const ListDecl* const> lists{};  // what its routes list
  const config::AnySection& (*section)();
  std::shared_ptr<const ServiceConfig> (*settings)(const config::Config&);
  // `directory` is its part of the data directory. On cores[0].
  std::unique_ptr<Service> (*make)(ServiceParts parts, std::string directory);
  std::string_view rate_key = "server.max_rps";  // what limits the first client that is in a hurry
  bool judges_origins = false;                   // has rules of its own for pages of other origins
  // Most of what clients get is the answer of another server, which says itself how it is to be
  // read.
  bool relays = false;
  bool dials = false;  // calls other servers over TLS, and so has to know whom to trust
};

// `section` and `settings` of a service whose section is given by the function `kSection`.
template <auto kSection>
const config::AnySection& section_of() {
  return kSection();
}
template <auto kSection>
std::shared_ptr<const ServiceConfig> settings_of(const config::Config& config) {
  return config.get(kSection());
}

// `make` of a service that keeps nothing on disk.
template <class S>
std::unique_ptr<Service> make_service(ServiceParts parts, std::string) {
  return std::make_unique<S>(std::move(parts));
}

}  // namespace ron::kit
