// Service: one of the five, as a process or a simulation holds it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "auth/keyring.h"
#include "base/result.h"
#include "config/reload.h"
#include "http/router.h"
#include "observe/log.h"
#include "platform/net.h"
#include "platform/task.h"
#include "platform/tls.h"
#include "runtime/meter.h"
#include "runtime/topology.h"

namespace ron::kit {

// Where a service listens.
struct Endpoints {
  platform::Endpoint bind;
  platform::Endpoint admin;
  std::optional<platform::Endpoint> uds;
};

// Whom a service trusts, and what it shows to be trusted itself. Snapshots, swapped whole.
struct Credentials {
  std::shared_ptr<const auth::Keyring> keyring;
  std::shared_ptr<const platform::TlsServer> tls;  // null: plain HTTP
  // Whom it trusts to be who they say when it calls them over TLS; null: nobody.
  std::shared_ptr<const platform::TlsClient> trust{};
};

// What /readyz says. Writes turn unready before reads do. Degraded alone: some of what is wanted
// cannot be had, and nobody should send requests elsewhere for it.
struct Readiness {
  bool ready = true;
  bool write_ready = true;
  bool degraded = false;  // one that is not ready, or takes no writes, is degraded besides
  std::vector<std::string> missing{};
};

// Made and used on cores[0]; its tasks run on all cores. Lives until stop() has returned.
class Service {
 public:
  Service() = default;
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;
  virtual ~Service() = default;

  [[nodiscard]] virtual std::string_view name() const noexcept = 0;  // `svc-storage`
  // False: it has no listeners of its own and is reached through another service of the process.
  [[nodiscard]] virtual bool listens() const noexcept = 0;

  // Opens what the service needs and its listeners, and starts every task; an error names the key
  // or file and leaves nothing running. Not cancel-safe.
  virtual platform::Task<base::Result<Endpoints>> start() = 0;

  // A new configuration, in two steps, so that all services of a process take it over or none.
  // prepare() opens listeners that move; then either adopt() or discard(). Not cancel-safe.
  virtual platform::Task<base::Result<>> prepare(std::shared_ptr<const config::Config> next) = 0;
  virtual platform::Task<Endpoints> adopt(config::Reloaded next, Credentials credentials) = 0;
  virtual platform::Task<void> discard() = 0;
  virtual void count_reload_failure(config::ReloadFail fail) = 0;

  // Unready first, then intake stops, then requests in flight finish within the drain deadline; the
  // rest is aborted. Returns how many tasks were. Not cancel-safe.
  virtual platform::Task<std::size_t> stop() = 0;
  // Cuts a stop short.
  virtual void abort_now() noexcept = 0;
  // Called when a critical task was given up; the owner stops the process.
  virtual void on_give_up(std::function<void()> tell) = 0;

  // Before start(): shows another service of the process on this one's admin listener, and is ready
  // only when that one is. It outlives this one.
  virtual void show(Service& neighbour) = 0;

  // The process can be reached, through the service in front, which may be this one; and again
  // after it has moved. On cores[0].
  virtual void on_front(const Service& front, const Endpoints& at) = 0;

  // A request that another service of the process hands on (http/server.h). Cancel-safe.
  virtual platform::Task<http::Response> call(const http::Request* from) = 0;

  // It says itself which pages of other origins may use it; what hands on its requests need not.
  [[nodiscard]] virtual bool judges_origins() const noexcept { return false; }

  // What an admin listener shows of it. `router` may be another service's: in `ron up` one admin
  // listener serves all.
  virtual void add_operator_routes(http::Router& router) = 0;
  // Any core.
  [[nodiscard]] virtual Readiness readiness_now() const = 0;
  [[nodiscard]] virtual runtime::Meters& meters() noexcept = 0;
  [[nodiscard]] virtual const runtime::Topology& topology() const noexcept = 0;
  [[nodiscard]] virtual std::shared_ptr<const config::Config> config() const = 0;
  [[nodiscard]] virtual Credentials credentials() const = 0;
  [[nodiscard]] virtual observe::Log log() const = 0;
};

// Where clients reach what listens there: `http://127.0.0.1:8080`, or https with a certificate.
// Empty for one that listens on every address: which of them others can use is not known here.
std::string url_of(const Service& service, const Endpoints& at);

}  // namespace ron::kit
