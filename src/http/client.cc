#include "http/client.h"

#include <string>
#include <utility>

#include "http/client_exchange.h"
#include "http/message.h"
#include "platform/executor.h"

namespace ron::http {

using base::Code;
using base::fail;

namespace {

Framing framing(const ClientRequest& request) noexcept {
  if (request.source != nullptr) return request.source_bytes ? Framing::Length : Framing::Chunked;
  const bool announces = request.method == Method::Put || request.method == Method::Post ||
                         request.method == Method::Patch;
  return announces || request.body_bytes() > 0 ? Framing::Length : Framing::None;
}

// For a request that does not say what Host is to be.
std::string authority(const ClientRequest& request) {
  if (request.name.empty()) return request.endpoint.text();
  const bool bare_v6 = request.name.find(':') != std::string_view::npos && request.name[0] != '[';
  std::string text(request.name);
  if (bare_v6) text = "[" + text + "]";
  return text + ":" + std::to_string(request.port);
}

bool render_head(const ClientRequest& request, HeadBuffer& out) {
  std::string made;
  if (request.host.empty()) made = authority(request);
  RequestOut head;
  head.method = method_name(request.method);
  head.target = request.target;
  head.host = request.host.empty() ? std::string_view(made) : request.host;
  head.framing = framing(request);
  head.content_length =
      request.source != nullptr ? request.source_bytes.value_or(0) : request.body_bytes();
  head.expect_continue = request.expect_continue;
  head.fields = request.fields;
  return render(head, out);
}

// Another address may do better.
bool is_about_address(const base::Error& error) noexcept {
  return error.code == Code::UpstreamFail || error.code == Code::Timeout ||
         error.code == Code::Busy;
}

}  // namespace

Client::Client(platform::Net& net, ClientSettings settings, runtime::Meters& meters)
    : settings_(std::move(settings)),
      meters_(meters),
      names_(settings_),
      pool_(net, settings_, meters_) {}

platform::Task<std::size_t> Client::close(runtime::Deadline deadline) {
  names_.close();
  return pool_.close(deadline);
}

Client::Lease Client::take_idle(const ClientRequest& request, Route& route) {
  if (request.name.empty()) return pool_.take_idle({request.endpoint, request.tls_host});
  route.addresses = names_.find(request.name, request.port);
  if (!route.addresses) return {};
  route.order = route.addresses->next_order(platform::Executor::current()->now());
  return pool_.take_idle({route.addresses->endpoint(route.order[0]), request.tls_host});
}

platform::Task<base::Result<Client::Lease>> Client::connect(const ClientRequest* request,
                                                            Route route,
                                                            runtime::Deadline deadline) {
  if (!request->name.empty()) return connect_by_name(request, std::move(route), deadline);
  return pool_.acquire({request->endpoint, std::string(request->tls_host)}, deadline,
                       settings_.connect_timeout, request->progress);
}

// Each address has an even share of what is left of the time to connect.
platform::Task<base::Result<Client::Lease>> Client::connect_by_name(const ClientRequest* request,
                                                                    Route route,
                                                                    runtime::Deadline deadline) {
  const ClientPool::Guest guest(pool_);
  const platform::Executor& executor = *platform::Executor::current();
  if (!route.addresses) {
    NameCache::Answer answer =
        co_await names_.resolve(std::string(request->name), request->port, deadline);
    if (!answer) {
      meters_.resolve_errors.add();
      co_return fail(std::move(answer.error()));
    }
    route.addresses = std::move(*answer);
    route.order = route.addresses->next_order(executor.now());
  }
  const platform::TimePoint connected_by = executor.now() + settings_.connect_timeout;
  for (std::size_t i = 0;; ++i) {
    const std::size_t position = route.order[i];
    const base::Duration left = connected_by - executor.now();
    const base::Duration share = left / static_cast<std::int64_t>(route.order.size() - i);
    base::Result<Lease> lease = co_await pool_.acquire(
        {route.addresses->endpoint(position), std::string(request->tls_host)}, deadline, share,
        request->progress);
    if (lease) {
      route.addresses->answered(position);
      co_return std::move(lease);
    }
    if (!is_about_address(lease.error())) co_return std::move(lease);
    // Whose caller had no more time did not find out anything about the address.
    const bool is_news = lease.error().code != Code::Busy && !deadline.passed();
    if (is_news) route.addresses->failed(position, executor.now());
    if (i + 1 == route.order.size() || deadline.passed()) co_return std::move(lease);
  }
}

platform::Task<base::Result<ClientResponse>> Client::send(ClientRequest request,
                                                          runtime::Deadline deadline) {
  static_assert(sizeof(ClientResponse::State) <= kExchangeStateBytes);
  if (deadline.passed()) {
    meters_.timeouts.add();
    co_return fail(Code::Timeout, "the deadline had passed before the request was sent");
  }
  HeldBuffer memory(pool_.buffers());
  HeadBuffer head({reinterpret_cast<char*>(memory->bytes.data()), memory->bytes.size()});
  if (!render_head(request, head)) {
    if (head.full()) co_return fail(Code::HeadTooLarge, "the request's head is too large");
    co_return fail(Code::Malformed, "the request cannot be written as an HTTP/1.1 head");
  }
  if (request.name.empty() && settings_.allow_address &&
      !settings_.allow_address(request.endpoint)) {
    co_return fail(Code::NotAllowed, request.endpoint.text() + " may not be used");
  }
  std::unique_ptr<ClientResponse::State> state(new ClientResponse::State);
  state->buffers = &pool_.buffers();
  state->body_buffers = &body_buffers_;
  state->meters = &meters_;
  state->read_timeout = settings_.read_timeout;
  state->deadline = deadline;
  Route route;
  state->lease = take_idle(request, route);
  if (!state->lease) {
    base::Result<Lease> lease = co_await connect(&request, std::move(route), deadline);
    if (!lease) co_return fail(std::move(lease.error()));
    state->lease = std::move(*lease);
  }
  Exchange exchange(request, deadline, settings_, meters_, state->head);
  base::Result<> done = co_await exchange.run(&state->lease.link(), head.view());
  if (!done && request.may_resend && state->lease.reused() && exchange.repeatable()) {
    meters_.stale_retries.add();
    if (request.progress != nullptr) request.progress->resent = true;
    done = co_await state->lease.reconnect(deadline, settings_.connect_timeout);
    if (!done) co_return fail(std::move(done.error()));
    done = co_await exchange.run(&state->lease.link(), head.view());
  }
  if (!done && exchange.closed()) meters_.closed.add();
  if (!done) co_return fail(std::move(done.error()));
  ClientResponse response(std::move(state));
  response.begin_body(exchange.head_bytes(), exchange.sent_whole());
  co_return std::move(response);
}

}  // namespace ron::http
