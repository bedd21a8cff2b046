// Server: one listener on every core. Each core accepts, serves and drains its own connections;
// nothing of a request crosses cores.
//
//   bind()           opens the listeners, so that a start can fail before anything runs
//   run(core, stop)  the supervised task of one core: accepts until told to stop, then drains
//   adopt()          moves to what another bind() opened: new listeners first, then the old
//                    connections drain
#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "http/connection.h"
#include "http/ingress.h"
#include "http/router.h"
#include "observe/log.h"
#include "observe/span_queue.h"
#include "platform/host.h"
#include "platform/tls.h"
#include "runtime/shutdown.h"
#include "runtime/task_group.h"

namespace ron::http {

struct ServerParts {
  platform::Host host;
  const Router* router;
  Ingress* ingress;
  runtime::Meters* meters;
  observe::Log log;
  observe::Log access{};  // a line per request, if it is on
  // Who is let in at all, before anything is read; nobody is told why not. Empty: everybody.
  std::function<bool(const platform::Stream&)> admits{};
  // Header lines that every answer has, `Name: value\r\n` each; outlives the server.
  std::string_view standing_lines{};
};

class Server {
 public:
  explicit Server(ServerParts parts, std::shared_ptr<const ServerSettings> settings);
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server();

  // Opens one listener per core, all on the port the first one got, or none. Not cancel-safe.
  platform::Task<base::Result<platform::Endpoint>> bind(platform::Endpoint endpoint);
  // Serves on one core until stopped; returns when its last connection has ended. Aborting it cuts
  // them.
  platform::Task<void> run(std::size_t core, runtime::Shutdown shutdown);
  // What the last bind() opened takes over, once the core runs, and older connections drain; or it
  // is closed unused: two steps, so that several servers move together or not at all. A first
  // bind() that nobody adopts is taken over by run(). Not cancel-safe.
  platform::Task<void> adopt();
  platform::Task<void> discard();
  // Closes the listeners of cores that do not run: for a stop that comes before their tasks, which
  // then never close them. Not cancel-safe.
  platform::Task<void> close_unserved();
  // Before it runs and before the first call(): a span of every request goes there, if it wants
  // them. It outlives the server's tasks.
  void trace(observe::SpanQueue& spans) noexcept;
  // Likewise: who is told of every error of an answer.
  void tell_errors(const OnError& tell);
  // Every core uses the new settings for its next request. Not cancel-safe.
  platform::Task<void> apply(std::shared_ptr<const ServerSettings> settings);
  // Connections accepted from now on speak TLS with that certificate; null: plain HTTP. Those that
  // are open stay as they are. Not cancel-safe.
  platform::Task<void> apply(std::shared_ptr<const platform::TlsServer> tls);

  // A request that another service of this process hands on, answered as if it had come over a
  // connection: the same routes, stages and metrics, except that its rate was charged where it came
  // in. Neither the body nor the answer is copied. On one of the server's cores, whether or not it
  // listens; `from` outlives the call. Cancel-safe: aborting drops the handler.
  platform::Task<Response> call(const Request* from);

  [[nodiscard]] std::size_t cores() const noexcept { return loops_.size(); }

 private:
  class Loop;
  ServerParts parts_;
  std::shared_ptr<const ServerSettings> settings_;
  std::vector<std::unique_ptr<Loop>> loops_;
};

}  // namespace ron::http
