// Listeners: where a service can be reached: by clients on TCP and, if it is asked for, on a Unix
// socket; by operators on a port of their own.
//
// Clients find the same routes and limits on TCP and on the Unix socket. The operators' listener
// has the same limits, counted apart: it is never short of connections because of clients.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "http/ingress.h"
#include "http/router.h"
#include "http/server.h"
#include "observe/log.h"
#include "platform/host.h"
#include "platform/tls.h"
#include "runtime/supervisor.h"
#include "runtime/watch_state.h"
#include "services/kit/config.h"
#include "services/kit/service.h"

namespace ron::kit {

// What the listeners of one service share. All of it outlives them.
struct ListenerParts {
  platform::Host host;
  std::string section;  // for messages: `storage` of storage.bind
  const http::Router* router;
  const http::Router* admin_router;
  http::Authorize authorize;
  runtime::Meters* meters;
  observe::Log log;
  observe::Log access{};
  bool relays = false;  // ServiceKind::relays
};

// Made and used on cores[0].
class Listeners {
 public:
  Listeners(ListenerParts parts, std::shared_ptr<const ServiceConfig> config);
  Listeners(const Listeners&) = delete;
  Listeners& operator=(const Listeners&) = delete;
  ~Listeners();

  // Opens all of them or none; an error names the key. Not cancel-safe.
  platform::Task<base::Result<Endpoints>> open();

  // Opens those that are elsewhere in `next`, unused until adopt() or discard(): all or none. The
  // Unix socket stays where it is. Not cancel-safe.
  platform::Task<base::Result<>> prepare(std::shared_ptr<const ServiceConfig> next);
  platform::Task<Endpoints> adopt();
  platform::Task<void> discard();

  // Every core uses these from its next request or connection on. Not cancel-safe.
  platform::Task<void> apply(std::shared_ptr<const ServiceConfig> config);
  platform::Task<void> apply(std::shared_ptr<const platform::TlsServer> tls);

  // Before anything runs: spans of clients' requests go there (http/server.h).
  void trace(observe::SpanQueue& spans) noexcept;
  // And these are told of the errors in their answers.
  void tell_errors(const http::OnError& tell);

  // A client's request that comes from within the process, whether or not anything is open.
  platform::Task<http::Response> call(const http::Request* from) { return public_.call(from); }

  // The supervised tasks: the operators' early, the clients' last.
  void start_admin(runtime::Supervisor& supervisor);
  void start_public(runtime::Supervisor& supervisor);
  // For a stop that comes before the tasks. Not cancel-safe.
  platform::Task<void> close_unserved();

 private:
  platform::Task<base::Result<platform::Endpoint>> bind(http::Server* server, std::string key,
                                                        std::string to);
  [[nodiscard]] bool admits(const platform::Stream& stream) const;

  ListenerParts parts_;
  runtime::WatchState<std::shared_ptr<const ServiceConfig>> config_;  // read by every core
  http::Ingress ingress_;
  http::Ingress admin_ingress_;
  http::Server public_;
  http::Server admin_;
  http::Server uds_;  // bound only if there is a socket
  Endpoints endpoints_;
  Endpoints next_;  // between prepare() and adopt()
  bool public_moves_ = false;
  bool admin_moves_ = false;
};

}  // namespace ron::kit
