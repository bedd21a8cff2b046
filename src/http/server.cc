#include "http/server.h"

#include <algorithm>
#include <cassert>
#include <optional>
#include <utility>

#include "http/metric_names.h"
#include "http/request_span.h"
#include "runtime/call_on.h"
#include "runtime/deadline.h"
#include "runtime/permit.h"
#include "runtime/waiting.h"

namespace ron::http {

namespace {

// Accepted before the others of the core have their turn.
constexpr std::size_t kAcceptsPerTurn = 16;
constexpr base::Duration kAcceptPause = std::chrono::milliseconds(50);
constexpr std::size_t kTurnedAway = 64;  // clients being told that there is no room, per core

}  // namespace

// The part of a server that lives on one core. Every method runs there.
class Server::Loop {
 public:
  Loop(const ServerParts& parts, platform::Executor& executor,
       std::shared_ptr<const ServerSettings> settings)
      : home(executor),
        context_(*parts.router, *parts.ingress, *parts.meters, {parts.log, parts.access},
                 parts.host.clock, parts.host.random.next(), parts.standing_lines),
        net_(parts.host.net),
        admits_(parts.admits),
        accept_failures_(parts.meters->counter(metrics::kAcceptFailuresTotal)),
        connection_tasks_(*parts.meters, "connection"),
        acceptor_tasks_(*parts.meters, "acceptor") {
    context_.settings = std::move(settings);
  }

  // Opens a listener that is not used until adopt().
  base::Result<platform::Endpoint> prepare(platform::Endpoint endpoint) {
    auto listener = net_.listen(endpoint);
    if (!listener) return base::fail(listener.error());
    next_ = std::make_shared<Acceptor>(std::move(*listener));
    return next_->listener->local();
  }
  bool discard() {
    next_.reset();
    return true;
  }
  // From now on, or once it runs, this core accepts on the prepared listener; what came through the
  // old one drains.
  bool adopt() {
    if (!next_) return false;
    retire_all();
    current_ = std::move(next_);
    endpoint_ = current_->listener->local();
    if (acceptors_) acceptors_->spawn(accept(current_));
    return true;
  }
  bool close_unserved() {
    if (acceptors_) return false;
    current_.reset();
    return discard();
  }
  bool apply(std::shared_ptr<const ServerSettings> settings) {
    context_.settings = std::move(settings);
    return true;
  }
  bool apply(std::shared_ptr<const platform::TlsServer> tls) {
    tls_ = std::move(tls);
    return true;
  }
  void trace(observe::SpanQueue& spans) noexcept { context_.spans = &spans; }
  void tell_errors(OnError tell) { context_.on_error = std::move(tell); }

  platform::Task<void> run(runtime::Shutdown shutdown);
  platform::Task<Response> call(const Request* from);

  platform::Executor& home;

 private:
  struct Acceptor {
    explicit Acceptor(std::unique_ptr<platform::Listener> from) : listener(std::move(from)) {}
    std::unique_ptr<platform::Listener> listener;
    bool closing = false;
  };
  // Aborting the core's task must not leave its children behind.
  struct Cleanup {
    Loop* loop;
    ~Cleanup() {
      loop->connections_->abort_all();
      loop->acceptors_->abort_all();
      loop->connections_.reset();
      loop->acceptors_.reset();
      loop->current_.reset();
      loop->next_.reset();
    }
  };

  platform::Task<void> accept(std::shared_ptr<Acceptor> acceptor);
  platform::Task<void> serve(std::unique_ptr<platform::Stream> stream,
                             Ingress::Admission admission);
  platform::Task<void> turn_away(std::unique_ptr<platform::Stream> stream, base::Error error,
                                 runtime::Limit::Permit permit);
  void take_in(std::unique_ptr<platform::Stream> stream);
  void retire_all();

  LoopContext context_;
  platform::Net& net_;
  const std::function<bool(const platform::Stream&)> admits_;
  std::shared_ptr<const platform::TlsServer> tls_;
  runtime::Counter& accept_failures_;
  runtime::TaskMeters connection_tasks_;
  runtime::TaskMeters acceptor_tasks_;
  runtime::Limit turned_away_{kTurnedAway};
  platform::Endpoint endpoint_;  // where it listens, or did before it failed
  std::shared_ptr<Acceptor> next_;
  std::shared_ptr<Acceptor> current_;
  Connection* first_ = nullptr;
  std::optional<runtime::TaskGroup> acceptors_;
  std::optional<runtime::TaskGroup> connections_;
};

platform::Task<void> Server::Loop::run(runtime::Shutdown shutdown) {
  acceptors_.emplace(acceptor_tasks_);
  connections_.emplace(connection_tasks_);
  context_.draining = false;
  const Cleanup cleanup{this};
  if (current_) {
    acceptors_->spawn(accept(current_));
  } else {
    // After a failure the listener went with the failed run: open it again.
    if (!next_) prepare(endpoint_).value();
    adopt();
  }
  co_await runtime::wait_stop(shutdown);
  context_.draining = true;
  retire_all();
  co_await acceptors_->join(runtime::Deadline());
  retire_all();
  co_await connections_->join(runtime::Deadline());
}

void Server::Loop::retire_all() {
  if (current_ && current_->listener) {
    current_->closing = true;
    current_->listener->acceptable().nudge();
  }
  for (Connection* connection = first_; connection != nullptr; connection = connection->next) {
    connection->retire();
  }
}

// Accepts until told to close, then takes in whoever the kernel has accepted already: a client that
// got its connection also gets an answer.
platform::Task<void> Server::Loop::accept(std::shared_ptr<Acceptor> acceptor) {
  for (std::size_t taken = 0;;) {
    int error = 0;
    auto stream = acceptor->listener->try_accept(error);
    if (stream) {
      take_in(std::move(stream));
      // A flood of connections takes nothing from those that are there.
      if (++taken % kAcceptsPerTurn == 0) co_await platform::Yield();
    } else if (error != 0) {
      accept_failures_.add();
      co_await runtime::sleep_for(kAcceptPause);
    } else if (acceptor->closing) {
      break;
    } else if (!acceptor->listener->acceptable().is_set()) {
      co_await acceptor->listener->acceptable().wait();
    }
  }
  acceptor->listener.reset();
}

void Server::Loop::take_in(std::unique_ptr<platform::Stream> stream) {
  if (admits_ && !admits_(*stream)) {
    context_.ingress.rejections.peer.add();
    return;
  }
  if (tls_) stream = tls_->secure(std::move(stream));
  auto admission = context_.ingress.admit_connection(stream->peer(), *context_.settings);
  if (admission) {
    connections_->spawn(serve(std::move(stream), std::move(*admission)));
  } else if (runtime::Limit::Permit permit = turned_away_.try_acquire()) {
    connections_->spawn(
        turn_away(std::move(stream), std::move(admission.error()), std::move(permit)));
  }
}

platform::Task<void> Server::Loop::serve(std::unique_ptr<platform::Stream> stream,
                                         Ingress::Admission admission) {
  Connection connection(context_, std::move(stream), std::move(admission));
  struct Listed {
    Loop* loop;
    Connection* connection;
    ~Listed() {
      (connection->previous != nullptr ? connection->previous->next : loop->first_) =
          connection->next;
      if (connection->next != nullptr) connection->next->previous = connection->previous;
    }
  } const listed{this, &connection};
  connection.next = first_;
  if (first_ != nullptr) first_->previous = &connection;
  first_ = &connection;
  co_await connection.serve();
}

// Says why and closes. A flood is dropped without a word: the answers would cost the memory that
// the cap protects.
platform::Task<void> Server::Loop::turn_away(std::unique_ptr<platform::Stream> stream,
                                             base::Error error, runtime::Limit::Permit permit) {
  const runtime::Limit::Permit held = std::move(permit);
  Connection connection(context_, std::move(stream), {});
  co_await connection.turn_away(std::move(error));
}

platform::Task<Response> Server::Loop::call(const Request* from) {
  const std::shared_ptr<const ServerSettings> settings = context_.settings;
  const platform::TimePoint started = home.now();
  Request request = from->handed_on();
  if (std::optional<Response> unrouted = context_.router.route(request)) {
    context_.router.unmatched().answered(unrouted->status, {});
    record_span(context_, request, *unrouted, {});
    unrouted->lines.append(context_.standing_lines);
    co_return std::move(*unrouted);
  }
  Passage passage{
      request, *request.route, *request.route_meters, *settings, context_.clock, started, true};
  const base::Result<void> admitted = context_.ingress.admit(passage);
  Response response;
  if (admitted) {
    request.body->tighten(settings->body_limits());
    request.body->set_deadline(request.deadline);
    response = co_await request.route->handler(&request);
  } else {
    response = Response::error(admitted.error(), request.corr_id);
  }
  const base::Duration took = home.now() - started;
  request.route_meters->answered(response.status, took);
  record_span(context_, request, response, took);
  if (context_.on_error && !response.error_code.empty()) context_.on_error(response.error_code);
  response.lines.append(context_.standing_lines);
  co_return response;
}

Server::Server(ServerParts parts, std::shared_ptr<const ServerSettings> settings)
    : parts_(std::move(parts)), settings_(std::move(settings)) {
  for (platform::Executor* executor : parts_.host.cores) {
    loops_.push_back(std::make_unique<Loop>(parts_, *executor, settings_));
  }
}

Server::~Server() = default;

platform::Task<base::Result<platform::Endpoint>> Server::bind(platform::Endpoint endpoint) {
  for (const auto& loop : loops_) {
    const auto prepare = [owner = loop.get(), endpoint] { return owner->prepare(endpoint); };
    const base::Result<platform::Endpoint> bound = co_await runtime::call_on(&loop->home, prepare);
    if (!bound) {
      co_await discard();
      co_return base::fail(bound.error());
    }
    endpoint = *bound;
  }
  co_return endpoint;
}

platform::Task<void> Server::run(std::size_t core, runtime::Shutdown shutdown) {
  return loops_[core]->run(std::move(shutdown));
}

platform::Task<Response> Server::call(const Request* from) {
  const platform::Executor* const here = platform::Executor::current();
  const auto loop = std::ranges::find(loops_, here, [](const auto& each) { return &each->home; });
  assert(loop != loops_.end() && "called on a core of the server");
  return (*loop)->call(from);
}

void Server::trace(observe::SpanQueue& spans) noexcept {
  for (const auto& loop : loops_) loop->trace(spans);
}

void Server::tell_errors(const OnError& tell) {
  for (const auto& loop : loops_) loop->tell_errors(tell);
}

platform::Task<void> Server::adopt() {
  for (const auto& loop : loops_) {
    const auto take = [owner = loop.get()] { return owner->adopt(); };
    co_await runtime::call_on(&loop->home, take);
  }
}

platform::Task<void> Server::discard() {
  for (const auto& loop : loops_) {
    const auto drop = [owner = loop.get()] { return owner->discard(); };
    co_await runtime::call_on(&loop->home, drop);
  }
}

platform::Task<void> Server::close_unserved() {
  for (const auto& loop : loops_) {
    const auto close = [owner = loop.get()] { return owner->close_unserved(); };
    co_await runtime::call_on(&loop->home, close);
  }
}

platform::Task<void> Server::apply(std::shared_ptr<const ServerSettings> settings) {
  settings_ = settings;
  parts_.ingress->apply(*settings, platform::Executor::current()->now());
  for (const auto& loop : loops_) {
    const auto swap = [owner = loop.get(), settings] { return owner->apply(settings); };
    co_await runtime::call_on(&loop->home, swap);
  }
}

platform::Task<void> Server::apply(std::shared_ptr<const platform::TlsServer> tls) {
  for (const auto& loop : loops_) {
    const auto swap = [owner = loop.get(), tls] { return owner->apply(tls); };
    co_await runtime::call_on(&loop->home, swap);
  }
}

}  // namespace ron::http
